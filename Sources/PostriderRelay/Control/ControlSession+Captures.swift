import PostriderCaptures
import PostriderEndpoints
import PostriderHTTP2
import PostriderNotifications

/// Captures as they happen, on the control socket.
extension ControlSession {
    /// The query of `GET /v1/captures/events`; nil for another path.
    static func captureEvents(_ path: String) -> Substring? {
        let parts = path.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts[0] == "/v1/captures/events" else { return nil }
        return parts.count > 1 ? parts[1] : ""
    }

    /// Sends the captures that a query selects from now on, or from the number on that the caller names, until the
    /// caller ends the stream.
    func followCaptures(_ query: Substring, after lastEvent: String?, on stream: Int32) {
        guard let feed = handler.captureWaiters?.feed else {
            return respond(stream, ControlResponse(ControlHandler.withoutBench))
        }
        do throws(CaptureQuery.Mistake) {
            let query = try CaptureQuery(events: query, last: lastEvent)
            let number = feed.follow(query) { [unowned self] bytes in
                endpoint.streams.send(stream, bytes.span)
            }
            guard let number else {
                let sentence = "\(Limits.eventStreams) programs follow captures already: end one of them."
                return respond(stream, .refusal(503, sentence))
            }
            followedCaptures[stream] = number
            beginEvents(on: stream, ": captures follow\n\n")
        } catch {
            respond(stream, .refusal(400, error.sentence))
        }
    }

    /// The caller of a stream has taken everything that was sent on it.
    func writable(_ stream: Int32) {
        if let number = followedCaptures[stream] { handler.captureWaiters?.feed.writable(number) }
    }

    /// A stream is closed.
    func leaveCaptures(_ stream: Int32) {
        if let number = followedCaptures.removeValue(forKey: stream) {
            handler.captureWaiters?.feed.leave(number)
        }
    }
}

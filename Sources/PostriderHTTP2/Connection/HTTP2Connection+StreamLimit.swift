import CPostriderNghttp2

/// A first SETTINGS frame that holds the peer back more than the session itself would.
extension HTTP2Connection {
    /// Lets the first SETTINGS frame allow the peer this many streams at once, while the session goes on to take as
    /// many as its settings say: a peer that opened more before it read the frame, or does not care, is served all the
    /// same. `updateMaxConcurrentStreams` tells the peer of the rest.
    ///
    /// The library could not: it resets every stream above a limit from the moment in which the limit is submitted,
    /// and ends the connection for one above it once the peer has acknowledged it. So it is left to believe that it
    /// said the limit of the settings.
    ///
    /// Only before the first `drain`, and only by a server.
    public func announceStreamLimit(_ count: UInt32) {
        precondition(role == .server, "only a server limits the peer's streams")
        announcedStreamLimit = count
    }

    /// Writes the announced limit, if there is one, into the frame that begins at `start`.
    func writeStreamLimit(into output: inout [UInt8], at start: Int) {
        guard let count = announcedStreamLimit, output.count >= start + FrameHead.byteCount else { return }
        announcedStreamLimit = nil
        precondition(
            output[start + 3] == UInt8(NGHTTP2_SETTINGS.rawValue) && output[start + 4] == 0,
            "a limit is announced with the first frame")
        let payloadBytes = output[start..<start + 3].reduce(0) { $0 << 8 | Int($1) }
        let payload = start + FrameHead.byteCount
        // Each setting has an identifier of two bytes and a value of four (RFC 9113, section 6.5.1).
        for setting in stride(from: payload, to: payload + payloadBytes, by: 6) {
            let identifier = UInt32(output[setting]) << 8 | UInt32(output[setting + 1])
            guard identifier == NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS.rawValue else { continue }
            for byte in 0..<4 {
                output[setting + 2 + byte] = UInt8(truncatingIfNeeded: count >> UInt32(24 - 8 * byte))
            }
        }
    }
}

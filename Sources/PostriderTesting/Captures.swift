import PostriderNotifications
import PostriderTransport

/// The requests that a relay for tests has received. The latest 10,000 are kept, at most 32 MiB.
public struct Captures: Sendable {
    private let control: SocketAddress

    init(control: SocketAddress) { self.control = control }

    /// The requests so far that pass all filters, oldest first; the latest 1000 if there are more.
    public func all(where filters: CaptureFilter...) async throws(TestRelayError) -> [Capture] {
        try await get(filters, []).captures
    }

    /// Waits until this many requests that pass all filters have an outcome.
    ///
    /// - Parameters:
    ///   - count: how many, at most 1000.
    ///   - timeout: how long to wait, at most a minute.
    ///   - filters: which requests; all if none is given.
    /// - Returns: all requests that pass the filters, oldest first.
    /// - Throws: ``TestRelayError`` with a list of all captures if the time passes.
    @discardableResult
    public func wait(
        count: Int = 1, timeout: Duration = .seconds(5), where filters: CaptureFilter...
    ) async throws(TestRelayError) -> [Capture] {
        let wait = [("count", "\(count)"), ("wait", "\(timeout.milliseconds)ms")]
        let (captures, isComplete) = try await get(filters, wait, within: timeout + .seconds(30))
        guard !isComplete else { return captures }
        let condition = filters.map { ", \($0.query.name) \($0.query.value)" }.joined()
        let came = try await get([], []).captures.map { "  \($0)" }
        let lines =
            ["\(captures.count) of \(count) requests came within \(timeout)\(condition). All that came:"]
            + (came.isEmpty ? ["  nothing"] : came)
        throw TestRelayError(lines.joined(separator: "\n"))
    }

    /// Removes all captures.
    public func clear() async throws(TestRelayError) {
        _ = try await ControlRequest.send("DELETE", "/v1/captures", to: control)
    }

    private func get(
        _ filters: [CaptureFilter], _ more: [(String, String)], within time: Duration = .seconds(30)
    ) async throws(TestRelayError) -> (captures: [Capture], isComplete: Bool) {
        let query = filters.map(\.query) + more
        let path = "/v1/captures?" + query.map { "\($0)=\($1.percentEncoded)" }.joined(separator: "&")
        let body = try await ControlRequest.send("GET", path, to: control, within: time)
        guard let answer = Answer(String(decoding: body, as: UTF8.self)),
            let list = answer["captures"]?.array
        else {
            throw TestRelayError(
                "The relay's captures cannot be read: a payload has more than 60 levels, or the program "
                    + "'postrider' is of another version than this package.")
        }
        return (list.compactMap { Capture($0) }, answer["isComplete"]?.boolean ?? true)
    }
}

/// Selects captures.
public enum CaptureFilter: Sendable, Equatable {
    /// Those for this app.
    case topic(String)
    /// Those whose device token begins with these digits.
    case token(String)
    /// Those that were answered with this HTTP status.
    case status(Int)
    /// Those with this outcome.
    case outcome(CaptureOutcome)
    /// The one with this `apns-id`.
    case identifier(String)

    var query: (name: String, value: String) {
        switch self {
        case .topic(let topic): ("topic", topic)
        case .token(let digits): ("token", digits)
        case .status(let status): ("status", "\(status)")
        case .outcome(let outcome): ("outcome", outcome.rawValue)
        case .identifier(let identifier): ("id", identifier)
        }
    }
}

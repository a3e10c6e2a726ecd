import FoundationEssentials
import PostriderClients
import PostriderNotifications

/// Captured pushes, from lines of JSON as `postrider captures --lines` prints them.
struct ReplayFile: Sendable {
    /// A push, and when it is sent after the first one.
    struct Item: Sendable {
        /// Milliseconds after the first push of the file.
        let offset: Int64
        /// The push. Its expiration is as far from the time of the replay as it was from the time of the capture.
        let push: Push
    }

    /// The pushes, in the order of their times.
    let items: [Item]
    /// The number of captures that are no pushes to a device token, or whose body was not kept as a whole.
    let skipped: Int

    /// Reads the text of a file.
    ///
    /// - Parameters:
    ///   - file: the name of the file in errors.
    ///   - now: the time of the replay.
    /// - Throws: ``CommandFailure`` for a line that is no capture.
    init(_ text: String, file: String, now: Moment) throws(CommandFailure) {
        var captures: [Capture] = []
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            guard !line.allSatisfy(\.isWhitespace) else { continue }
            guard let capture = Capture(line: Array(line.utf8)) else {
                throw CommandFailure(
                    "\(file):\(index + 1): this line is no capture: write such a file with 'postrider "
                        + "captures --lines'.", exitCode: 2)
            }
            captures.append(capture)
        }
        let pushes = captures.compactMap { capture in capture.push(at: now).map { (capture.at, $0) } }
        let first = pushes.map(\.0).min() ?? 0
        items = pushes.map { Item(offset: $0 - first, push: $1) }.sorted { $0.offset < $1.offset }
        skipped = captures.count - pushes.count
    }
}

/// What a replay needs of a capture.
private struct Capture {
    private struct Members: Decodable {
        let at: Int64
        let token: String?
        let topic: String?
        let headers: [Field]
        let body: Data?
        let bodyBytes: Int
    }

    private struct Field: Decodable {
        let name: String
        let value: String
    }

    private let members: Members
    private let body: [UInt8]

    var at: Int64 { members.at }

    /// Milliseconds since 1970 up to the year 2286, beyond which no clock is right.
    private static let times: ClosedRange<Int64> = 0...9_999_999_999_999

    /// Reads a line. The payload is taken as it is written there, so that it is sent as it was captured.
    init?(line: [UInt8]) {
        guard let line = try? CaptureLine(line), let members = try? line.decode(Members.self),
            Self.times.contains(members.at)
        else { return nil }
        self.members = members
        self.body = line.payload ?? members.body.map { Array($0) } ?? []
    }

    /// The push; nil if the capture is none, or its body is not whole.
    func push(at now: Moment) -> Push? {
        guard let token = members.token, members.bodyBytes == body.count else { return nil }
        var push = Push(to: token, topic: members.topic.flatMap { Topic($0) }, payload: body)
        push.pushType = field("apns-push-type").flatMap(PushType.init(rawValue:))
        push.priority = field("apns-priority").flatMap { UInt8($0) }.flatMap(Priority.init(rawValue:))
        push.collapseIdentifier = field("apns-collapse-id")
        if let seconds = field("apns-expiration").flatMap({ Int64($0) }), Self.times.contains(seconds) {
            let shift = (now.milliseconds - at) / 1000
            push.expiration = seconds == 0 ? .nowOrNever : .at(Moment(seconds: max(1, seconds + shift)))
        }
        return push
    }

    private func field(_ name: String) -> String? { members.headers.first { $0.name == name }?.value }
}

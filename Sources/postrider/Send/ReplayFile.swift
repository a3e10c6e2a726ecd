import FoundationEssentials
import PostriderClients
import PostriderCommands
import PostriderNotifications

/// Captured pushes, from lines of JSON as `postrider captures --lines` prints them, or from an HTTP Archive.
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
    /// - Throws: ``CommandFailure`` for a line that is no capture, and for an archive that lacks something.
    init(_ text: String, file: String, now: Moment) throws(CommandFailure) {
        let captures =
            RequestArchive.isArchive(text)
            ? try Self.captures(RequestArchive(text, file: file), file) : try Self.captures(lines: text, file)
        let pushes = captures.compactMap { capture in capture.push(at: now).map { (capture.at, $0) } }
        let first = pushes.map(\.0).min() ?? 0
        items = pushes.map { Item(offset: $0 - first, push: $1) }.sorted { $0.offset < $1.offset }
        skipped = captures.count - pushes.count
    }

    private static func captures(lines text: String, _ file: String) throws(CommandFailure) -> [Capture] {
        var captures: [Capture] = []
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            guard !line.allSatisfy(\.isWhitespace) else { continue }
            guard let capture = Capture(line: Array(line.utf8)) else {
                throw CommandFailure(
                    "\(file):\(index + 1): this line is no capture: write such a file with 'postrider "
                        + "captures --lines' or 'postrider captures --har'.", exitCode: 2)
            }
            captures.append(capture)
        }
        return captures
    }

    private static func captures(
        _ archive: RequestArchive, _ file: String
    ) throws(CommandFailure) -> [Capture] {
        var captures: [Capture] = []
        for (index, entry) in archive.entries.enumerated() {
            guard let capture = Capture(entry) else {
                throw CommandFailure(
                    "\(file): 'log.entries[\(index)].startedDateTime' of this HTTP Archive is no time "
                        + "such as 2027-01-15T08:00:00.500Z, but "
                        + "\(Listing.printable(entry.startedDateTime)): correct it.",
                    exitCode: 2)
            }
            captures.append(capture)
        }
        return captures
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

    private typealias Field = RequestArchive.Field

    let at: Int64
    private let token: String?
    private let topic: String?
    private let headers: [Field]
    /// Nil if the body is not whole.
    private let body: [UInt8]?

    /// Milliseconds since 1970 up to the year 2286, beyond which no clock is right.
    private static let times: ClosedRange<Int64> = 0...9_999_999_999_999

    /// Reads a line. The payload is taken as it is written there, so that it is sent as it was captured. Nil if the
    /// line is no capture.
    init?(line: [UInt8]) {
        guard let line = try? CaptureLine(line), let members = try? line.decode(Members.self),
            Self.times.contains(members.at)
        else { return nil }
        at = members.at
        token = members.token
        topic = members.topic
        headers = members.headers
        let body = line.payload ?? members.body.map { Array($0) } ?? []
        self.body = members.bodyBytes == body.count ? body : nil
    }

    /// The request of an archive; nil if its time is none.
    init?(_ entry: RequestArchive.Entry) {
        guard let time = entry.milliseconds, Self.times.contains(time) else { return nil }
        let request = entry.request
        at = time
        token = request.token
        // Other tools write the names of HTTP/1.1.
        headers = request.headers.map { Field(name: $0.name.lowercased(), value: $0.value) }
        topic = headers.first { $0.name == "apns-topic" }?.value
        let size = request.bodySize ?? -1
        body = request.body.flatMap { [-1, $0.count].contains(size) ? $0 : nil }
    }

    /// The push; nil if the capture is none, or its body is not whole.
    func push(at now: Moment) -> Push? {
        guard let token, let body else { return nil }
        var push = Push(to: token, topic: topic.flatMap { Topic($0) }, payload: body)
        push.pushType = field("apns-push-type").flatMap(PushType.init(rawValue:))
        push.priority = field("apns-priority").flatMap { UInt8($0) }.flatMap(Priority.init(rawValue:))
        push.collapseIdentifier = field("apns-collapse-id")
        if let seconds = field("apns-expiration").flatMap({ Int64($0) }), Self.times.contains(seconds) {
            let shift = (now.milliseconds - at) / 1000
            push.expiration = seconds == 0 ? .nowOrNever : .at(Moment(seconds: max(1, seconds + shift)))
        }
        return push
    }

    private func field(_ name: String) -> String? { headers.first { $0.name == name }?.value }
}

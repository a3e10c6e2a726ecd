import PostriderNotifications
import RelayFixtures

@testable import PostriderProviderAPI
@testable import PostriderRelay

/// The questions between nodes, for tests of all messages.
enum NodeQuerySamples {
    static let address = ReplyAddress(shard: 1, stream: 0, connection: 78)

    private static let identity = NotificationIdentity(high: 1, low: 2)

    private static func lookup(isAll: Bool, after: String?) -> DeviceLookup {
        var lookup = DeviceLookup(key: "", topic: Samples.topic, environment: .development)
        lookup.isAll = isAll
        lookup.after = after.flatMap(DeviceName.init)
        guard !isAll else { return lookup }
        lookup.names = ["kiosk", "desk"].compactMap(DeviceName.init)
        lookup.tags = Set(["lobby"].compactMap(DeviceTag.init))
        return lookup
    }

    private static let rows = [
        TracedRow(
            row: QueueRow(1 << 41), identity: identity, device: Samples.device, acceptedAt: Samples.now),
        TracedRow(
            row: QueueRow(0), identity: identity, device: nil, acceptedAt: Moment(milliseconds: 0)),
    ]

    private static let name = DeviceName(of: Samples.device, calledItself: "kiosk")

    private static let absent = AbsentDevice(
        device: Samples.device, key: "kiosk", since: Samples.now)

    static let questions: [NodeQuestion] = [
        .status, .labels([]), .labels(["kiosk", ""]), .devices(query: ""), .devices(query: "tag=lobby"),
        .change(Samples.device, Array("{}".utf8)),
        .change(Samples.device, []), .remove(Samples.device), .trace(query: ""),
        .trace(query: "follow=a@1:2"), .deviceEvents(after: ""), .deviceEvents(after: "5:1"),
        .traceEvents([]),
        .traceEvents(rows), .successors([]), .successors([absent]), .heir(name),
        .inherit(name, by: Samples.device),
        .channels(query: "topic=a"),
        .subscribers([]), .readAccess, .history,
        .subscribers([ChannelIdentity(high: 1, low: 2), ChannelIdentity(high: 0, low: 0)]),
        .progress(PushInquiry(identity: identity, wait: PushWait(for: .shown, seconds: 0))),
        .progress(
            PushInquiry(
                identity: identity, wait: PushWait(for: .done, seconds: 60), topic: Samples.topic,
                environment: .production)),
        .progress(PushInquiry(identity: identity, wait: PushWait(for: .done, seconds: 1), known: rows[0])),
        .lookUp(lookup(isAll: true, after: nil)), .lookUp(lookup(isAll: false, after: "kiosk")),
    ]

    /// What the asker sends.
    static let requests: [NodeQuery] = questions.map { .ask($0, address) } + [.goOn(address)]

    /// What the asker is sent.
    static let answers: [NodeQuery] = [
        .answer(NodeAnswerPiece(status: 200, bytes: [1, 2], isLast: false), address),
        .answer(NodeAnswerPiece(status: 404, bytes: [3], isLast: true), address), .answer(.none, address),
    ]

    static var messages: [NodeQuery] { requests + answers + [.ask(nil, address)] }
}

import PostriderNotifications
import Testing

@testable import PostriderWebPush

/// One rule about the messages of autopush devices.
struct AutopushCase: Sendable, CustomTestStringConvertible {
    /// What the device has done before.
    enum Before: Sendable {
        case connected
        case greeted
        /// The device has said hello, and was sent a notification of the version `v1`.
        case notified
    }

    let name: String
    let rule: String
    let before: Before
    let messages: [String]
    let effects: [AutopushSession.Effect]

    init(
        _ name: String, _ rule: String, after before: Before = .greeted, _ messages: [String],
        _ effects: [AutopushSession.Effect]
    ) {
        self.name = name
        self.rule = rule
        self.before = before
        self.messages = messages
        self.effects = effects
    }

    var testDescription: String { "\(name) \(rule)" }

    /// Runs the messages, and answers for the relay.
    func outcome() -> [AutopushSession.Effect] {
        var session = AutopushSession(at: 0)
        if before != .connected {
            _ = session.receive(#"{"messageType":"hello"}"#)
            _ = session.identified(as: "device")
        }
        if before == .notified {
            _ = session.deliver(
                AutopushNotification(
                    channel: AutopushTable.channel, version: "v1", message: WebPushMessage(.aes128gcm, [1])))
        }
        return messages.flatMap { session.receive($0) }
    }
}

extension AutopushSession {
    /// Takes a message at the time 0.
    mutating func receive(_ text: String, at now: UInt64 = 0) -> [Effect] {
        receive(Array(text.utf8).span, at: now)
    }
}

extension AutopushSession.Effect {
    /// What the service does, for the document.
    var words: String {
        switch self {
        case .identify(nil): "creates a device"
        case .identify: "finds the device, or creates one"
        case .register(_, nil): "subscribes"
        case .register: "subscribes for that key only"
        case .unregister: "removes the subscription"
        case .settle(_, .delivered): "settles it as delivered"
        case .settle(_, .undecryptable): "settles it as not decrypted"
        case .settle(_, .refused): "settles it as refused by the device"
        case .turn(let version): "lets \(version) have its turn"
        case .send(let bytes): "sends `\(String(decoding: bytes, as: UTF8.self))`"
        case .close(let close): "closes with \(close.code) (\(close.reason))"
        }
    }
}

/// The rules about the messages of autopush devices.
enum AutopushTable {
    static let channel = "a088d719-cc5c-4d6f-a29a-505e7df2f23f"
    private static let key =
        "BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A8"

    static let cases = [
        AutopushCase(
            "A1", "a new device says hello", after: .connected,
            [#"{"messageType":"hello","broadcasts":{},"use_webpush":true}"#], [.identify(nil)]),
        AutopushCase(
            "A2", "a known device presents its identity", after: .connected,
            [#"{"messageType":"hello","uaid":"device","use_webpush":true}"#], [.identify("device")]),
        AutopushCase(
            "A3", "an identity is base64url", after: .connected,
            [#"{"messageType":"hello","uaid":"../device"}"#],
            [.close(.invalidMember("uaid"))]),
        AutopushCase(
            "A4", "the protocol before Web Push is refused", after: .connected,
            [#"{"messageType":"hello","use_webpush":false}"#], [.close(.invalidMember("use_webpush"))]),
        AutopushCase("A5", "nothing comes before hello", after: .connected, ["{}"], [.close(.unexpected)]),
        AutopushCase("A6", "hello is said once", [#"{"messageType":"hello"}"#], [.close(.unexpected)]),
        AutopushCase(
            "A7", "a device subscribes", [#"{"messageType":"register","channelID":"\#(channel)"}"#],
            [.register(channel: channel, key: nil)]),
        AutopushCase(
            "A8", "a subscription may have a key, with or without padding",
            [#"{"messageType":"register","channelID":"\#(channel)","key":"\#(key)="}"#],
            [.register(channel: channel, key: VAPIDKey(text: key))]),
        AutopushCase(
            "A9", "a key is a point on P-256; a page may have given another to the device",
            [#"{"messageType":"register","channelID":"\#(channel)","key":"BAAA"}"#],
            [.send(AutopushResponse.registrationFailed(channel: channel, status: 400).bytes)]),
        AutopushCase(
            "A10", "a channel is a UUID", [#"{"messageType":"register","channelID":"news"}"#],
            [.close(.invalidMember("channelID"))]),
        AutopushCase(
            "A11", "a device unsubscribes",
            [#"{"messageType":"unregister","channelID":"\#(channel)","code":200}"#],
            [.unregister(channel: channel)]),
        AutopushCase(
            "A12", "the code 100 means that the app has it", after: .notified,
            [#"{"messageType":"ack","updates":[{"channelID":"\#(channel)","version":"v1","code":100}]}"#],
            [.settle(version: "v1", .delivered)]),
        AutopushCase(
            "A13", "no code means 100", after: .notified,
            [#"{"messageType":"ack","updates":[{"version":"v1"}]}"#],
            [.settle(version: "v1", .delivered)]),
        AutopushCase(
            "A14", "the code 101 means that it could not be decrypted", after: .notified,
            [#"{"messageType":"ack","updates":[{"version":"v1","code":101}]}"#],
            [.settle(version: "v1", .undecryptable)]),
        AutopushCase(
            "A15", "the code 102 means that the app failed", after: .notified,
            [#"{"messageType":"ack","updates":[{"version":"v1","code":102}]}"#],
            [.settle(version: "v1", .refused)]),
        AutopushCase(
            "A16", "a nack settles it too", after: .notified,
            [#"{"messageType":"nack","version":"v1","code":301}"#], [.settle(version: "v1", .refused)]),
        AutopushCase(
            "A17", "a notification is settled once", after: .notified,
            [
                #"{"messageType":"ack","updates":[{"version":"v1"}]}"#,
                #"{"messageType":"ack","updates":[{"version":"v1"}]}"#,
            ],
            [.settle(version: "v1", .delivered)]),
        AutopushCase(
            "A18", "an unknown version is ignored", after: .notified,
            [#"{"messageType":"ack","updates":[{"version":"v2"}]}"#], []),
        AutopushCase(
            "A19", "there are no broadcasts",
            [#"{"messageType":"broadcast_subscribe","broadcasts":{"a/b":"v"}}"#], []),
        AutopushCase("A20", "a ping is answered", ["{}"], [.send(Array("{}".utf8))]),
        AutopushCase(
            "A21", "a ping may have a type", [#"{"messageType":"ping"}"#], [.send(Array("{}".utf8))]),
        AutopushCase("A22", "a message is JSON", ["hello"], [.close(.notJSON)]),
        AutopushCase(
            "A23", "a message has a known type", [#"{"messageType":"purge"}"#], [.close(.unknownType)]),
        AutopushCase("A24", "after a close nothing is read", ["[]", "{}"], [.close(.notJSON)]),
    ]
}

@Suite("An autopush device")
struct AutopushTableTests {
    @Test("is treated as the table says", arguments: AutopushTable.cases)
    func cases(_ one: AutopushCase) {
        #expect(one.outcome() == one.effects)
    }
}

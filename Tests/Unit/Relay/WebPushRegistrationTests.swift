import PostriderCourier
import PostriderNotifications
import PostriderWebPush
import RelayFixtures
import Testing

@testable import PostriderRelay

@Suite("A Web Push registration of an agent")
struct WebPushRegistrationTests {
    private static let topic = "web-push.0123456789abcdef"

    private let fixture: DeviceFixture
    private let line: DeviceClientConnection

    init() throws {
        fixture = try DeviceFixture(webOrigin: WebFixture.origin)
        line = try fixture.connect()
    }

    private var welcome: Welcome? {
        for case .welcome(let welcome) in line.heard { return welcome }
        return nil
    }

    /// The payloads that arrived.
    private var payloads: [[UInt8]] {
        line.heard.compactMap { if case .deliver(let deliver) = $0 { deliver.payload } else { nil } }
    }

    private func ask(_ topic: String = topic, key: [UInt8] = []) throws -> RelayMessage? {
        line.say(.registerWebPush(RegisterWebPush(topic: topic, senderKey: key)))
        try fixture.run()
        try fixture.commit()
        return line.news.last
    }

    /// Registers, and returns the address for senders.
    private func register(key: [UInt8] = []) throws -> String {
        guard case .registered(let registered) = try ask(key: key) else {
            throw Refusal(heard: "\(line.news)")
        }
        return try #require(welcome).webPushURL + registered.deviceToken.hex
    }

    private struct Refusal: Error { let heard: String }

    @Test("brings messages to the agent byte for byte, with any content encoding and with none")
    func bytes() throws {
        let endpoint = try register()
        #expect(endpoint.hasPrefix("\(WebFixture.origin)/push/"))
        let bodies: [[UInt8]] = [
            [0], [0xFF, 0xFE, 0], Array("plain".utf8), [UInt8](repeating: 7, count: 4096),
        ]
        for (body, encoding) in zip(bodies, ["aes128gcm", "aesgcm", "", "br"]) {
            let sender = try fixture.post(body, to: endpoint, ["Content-Encoding": encoding])
            #expect(payloads.last == body)
            line.acknowledgeAll()
            try fixture.run()
            #expect(sender.status == 201)
        }
        #expect(payloads == bodies)
    }

    @Test("takes from 1 to 4096 bytes")
    func sizes() throws {
        let endpoint = try register()
        #expect(try fixture.post([], to: endpoint).status == 400)
        #expect(try fixture.post([UInt8](repeating: 1, count: 4097), to: endpoint).status == 413)
        #expect(payloads.isEmpty)
    }

    @Test("keeps messages on the disk while the agent is away")
    func away() throws {
        let endpoint = try register()
        line.say(.goodbye(Goodbye(reason: .shutdown, retryAfterMilliseconds: 0, detail: "")))
        try fixture.run()
        let sender = try fixture.post([0, 1], to: endpoint, ["Content-Encoding": ""])
        #expect(sender.status == nil)
        try fixture.commit()
        #expect(sender.status == 201)
        let next = try fixture.connect()
        try fixture.commit()
        #expect(
            next.heard.contains {
                if case .deliver(let deliver) = $0 { deliver.payload == [0, 1] } else { false }
            })
    }

    @Test("is for senders with its VAPID key alone, if it has one")
    func senders() throws {
        let key = try #require(VAPIDKey(text: WebFixture.senderKey)).bytes
        let endpoint = try register(key: key)
        #expect(try fixture.post([1], to: endpoint).status == 401)
        let forged = "vapid t=e30.e30.AAAA, k=\(WebFixture.senderKey)"
        #expect(try fixture.post([1], to: endpoint, ["Authorization": forged]).status == 403)
        #expect(payloads.isEmpty)
    }

    @Test("is the same when it is asked for again, and is refused under another key")
    func again() throws {
        let first = try register()
        #expect(try register() == first)
        let key = try #require(VAPIDKey(text: WebFixture.senderKey)).bytes
        let answer = try ask(key: key)
        #expect(
            answer
                == .refused(
                    Refused(topic: Self.topic, reason: "The topic is registered with another VAPID key.")))
    }

    @Test("is refused with a topic of an app, or a key that is none")
    func nonsense() throws {
        let wishes: [(topic: String, key: [UInt8])] = [
            (Samples.topic.text, []), ("web-push", []), ("web-push.ü", []), (Self.topic, [1, 2]),
        ]
        for (topic, key) in wishes {
            guard case .refused(let refused) = try ask(topic, key: key) else {
                Issue.record("\(topic) was not refused")
                continue
            }
            #expect(refused.topic == topic && refused.reason.hasSuffix("."))
        }
    }

    @Test("is refused by a relay without a web port, whose welcome says that there is none")
    func noWebPort() throws {
        let fixture = try DeviceFixture()
        let line = try fixture.connect()
        line.say(.registerWebPush(RegisterWebPush(topic: Self.topic, senderKey: [])))
        try fixture.run()
        guard case .refused(let refused) = line.news.last else { throw Refusal(heard: "\(line.news)") }
        #expect(refused.reason.contains("web-address"))
        for case .welcome(let welcome) in line.heard { #expect(welcome.webPushURL.isEmpty) }
    }

    @Test("that has ended is answered with 410")
    func ended() throws {
        let endpoint = try register()
        line.say(.unregister(topic: Self.topic))
        try fixture.run()
        try fixture.commit()
        #expect(try fixture.post([1], to: endpoint).status == 410)
    }

    @Test("is refused when the quota of Web Push has no room")
    func quota() throws {
        fixture.shard.context.quotas.replace(
            QuotaSet(["topic=web-push devices=1"].compactMap(Quota.init)))
        _ = try register()
        guard case .refused(let refused) = try ask("web-push.another") else {
            throw Refusal(heard: "\(line.news)")
        }
        #expect(refused.reason == "The quota of the app or its team has no room for another device.")
    }

    @Test("counts in metrics under one topic, as browsers do")
    func metrics() throws {
        let endpoint = try register()
        _ = try fixture.post([1], to: endpoint)
        #expect(fixture.shard.context.topics.counts.topics.map(\.text) == ["web-push"])
    }
}

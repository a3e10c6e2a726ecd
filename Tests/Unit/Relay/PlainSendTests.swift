import PostriderDeviceQueue
import PostriderNotifications
import PostriderStorage
import RelayFixtures
import Testing

@testable import PostriderRelay

@Suite("A plain send of a script")
struct PlainSendTests {
    private let fixture: WebFixture

    init() throws { fixture = try WebFixture(try Self.store()) }

    private static func store() throws -> MemoryStore {
        let store = MemoryStore()
        let name = try #require(DeviceName("kiosk-7"))
        store.apply([
            .putDevice(Samples.record), .putRegistration(Samples.registration()),
            .putLabel(DeviceLabel(device: Samples.device, name: name)),
        ]) { _ in }
        return store
    }

    private func send(
        _ text: String = "hello", to path: String = "\(Samples.topic.text)/kiosk-7", _ token: String? = nil,
        _ fields: [String: String] = [:], on fixture: WebFixture? = nil
    ) throws -> WebClientConnection {
        try (fixture ?? self.fixture).request(
            "POST", "\(WebFixture.origin)/send/\(path)",
            ["Authorization": "Bearer \(token ?? WebFixture.sendToken)"].merging(fields) { $1 }, text)
    }

    @Test("is stored for a device that is away, as an alert, and answered with its identity then")
    func stored() throws {
        let sender = try send("The backup has failed", ["Title": "Backup"])
        #expect(sender.status == nil)
        fixture.commit()
        #expect(sender.status == 200)
        let queued = try #require(fixture.ledger.queued.first?.notification)
        #expect(queued.device == Samples.device && queued.topic == Samples.topic)
        #expect(queued.pushType == .alert && queued.priority == .immediate)
        #expect(sender.text.contains(#"{"id":"\#(queued.identity.text)"}"#))
        #expect(
            String(decoding: queued.payload, as: UTF8.self)
                == #"{"aps":{"alert":{"body":"The backup has failed","title":"Backup"}}}"#)
        #expect(fixture.shard.report.tally.isBalanced)
    }

    @Test("has the trace context of its sender, if there is a valid one")
    func traceContext() throws {
        let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        for fields in [["traceparent": parent, "tracestate": "a=1"], ["traceparent": "nonsense"]] {
            _ = try send("hello", fields)
        }
        fixture.commit()
        let contexts = fixture.ledger.queued.map(\.notification.traceContext)
        #expect(contexts == [TraceContext(parent: parent, state: "a=1"), nil])
    }

    private func send(_ text: String, _ fields: [String: String]) throws -> WebClientConnection {
        try send(text, to: "\(Samples.topic.text)/kiosk-7", nil, fields)
    }

    @Test("finds a device by its name in any case, and by its identity")
    func names() throws {
        for device in ["KIOSK-7", Samples.device.description] {
            let sender = try send(to: "\(Samples.topic.text)/\(device)")
            fixture.commit()
            #expect(sender.status == 200, "\(device)")
        }
    }

    @Test("is refused without a token of the topic, for an unknown device, and with a wrong value")
    func refusals() throws {
        let none = try send("a", to: "\(Samples.topic.text)/kiosk-7", "send-wrong")
        #expect(none.status == 401 && none.field("www-authenticate") == "Bearer")
        #expect(try send("a", ["Authorization": ""]).status == 401)
        #expect(try send("a", ["Authorization": "Basic \(WebFixture.sendToken)"]).status == 401)
        #expect(try send("a", to: "\(Samples.otherTopic.text)/kiosk-7").status == 403)
        #expect(try send("a", to: "\(Samples.topic.text)/kiosk-8").status == 404)
        #expect(try send("a", ["Priority": "9"]).status == 400)
        #expect(try send(String(repeating: "a", count: 5000), [:]).status == 413)
        #expect(try send("a", to: "\(Samples.topic.text)").status == 404)
        let method = try fixture.request("GET", "\(WebFixture.origin)/send/a/b")
        #expect(method.status == 405 && method.field("allow") == "POST")
        #expect(fixture.logged.allSatisfy { !$0.contains(WebFixture.sendToken) })
    }

    @Test("of an abuser is refused, logs nothing that it holds, and leaves a good one alone")
    func abuse() throws {
        let topic = Samples.topic.text
        let devices = [
            "..", "%2e%2e", "%00", "kiosk-7%0d%0ax:%20y", "kiosk-7?x", "a/b/c", "'; DROP TABLE devices; --",
            "\u{1F4A3}",
            String(repeating: "k", count: 3000),
        ]
        let titles = ["\u{1}", "\u{7F}", "a\rX-Other: b", String(repeating: "t", count: 5000)]
        func good() throws {
            let sender = try send()
            fixture.commit()
            #expect(sender.status == 200)
        }
        for number in 0..<1000 {
            #expect(try send(to: "\(topic)/kiosk-7", "send-\(number)").status == 401)
            if number.isMultiple(of: 100) { try good() }
        }
        for device in devices {
            let status = try send(to: "\(topic)/\(device)").status
            #expect([nil, 400, 404, 405].contains(status), "\(device)")
            try good()
        }
        for title in titles {
            let sender = try send("a", ["Title": title])
            fixture.commit()
            #expect([nil, 400, 413, 431].contains(sender.status), "\(title)")
            try good()
        }
        #expect(fixture.logged.allSatisfy { !$0.contains("send-9") && !$0.contains("DROP") })
        #expect(fixture.shard.report.tally.isBalanced)
    }

    @Test("is in the trace with its reason when it is refused")
    func trace() throws {
        _ = try send("a", to: "\(Samples.topic.text)/kiosk-7", "send-wrong")
        _ = try send("a", to: "\(Samples.otherTopic.text)/kiosk-7")
        _ = try send("a", to: "\(Samples.topic.text)/kiosk-8")
        _ = try send("a", ["Priority": "9"])
        fixture.shard.context.trace.flush()
        #expect(
            fixture.refusals.map(\.reason)
                == [.missingProviderToken, .topicDisallowed, .badDeviceToken, .badRequestPayload])
        #expect(fixture.refusals.map { $0.identity == nil } == [true, true, false, true])
        #expect(Set(fixture.refusals.map(\.connection)).count == 4)
    }

    @Test("is refused when the disk fails")
    func failingDisk() throws {
        let sender = try send()
        fixture.commit(isDurable: false)
        #expect(sender.status == 503 && sender.field("retry-after") == "1")
    }

    @Test("counts for the quotas of its topic")
    func quota() throws {
        var quota = try #require(Quota("topic=\(Samples.topic.text) payload-bytes=60"))
        let small = try WebFixture(try Self.store(), quotas: QuotaSet([quota]))
        #expect(try send(String(repeating: "a", count: 60), on: small).status == 413)
        quota = try #require(Quota("topic=\(Samples.topic.text) pushes-per-second=1"))
        let slow = try WebFixture(try Self.store(), quotas: QuotaSet([quota]))
        let statuses = try (1...Limits.pushBurstSeconds + 1).map { _ in
            let sender = try send(on: slow)
            slow.commit()
            return sender.status
        }
        #expect(statuses == Array(repeating: 200, count: Limits.pushBurstSeconds) + [429])
    }
}

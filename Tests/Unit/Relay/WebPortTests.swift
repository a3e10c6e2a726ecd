import Foundation
import PostriderDeviceQueue
import PostriderNotifications
import PostriderStorage
import PostriderTransport
import Testing

@testable import PostriderRelay

@Suite("The web port")
struct WebPortTests {
    private static let channel = "d9b74644-4f97-46aa-b8fa-9393985cd6cd"

    private let fixture: WebFixture

    init() throws { fixture = try WebFixture() }

    private func register(_ browser: Browser, channel: String = channel, key: String? = nil) throws -> String
    {
        try fixture.register(browser, channel: channel, key: key)
    }

    @Test("takes a browser in, and a message goes to it unread; its sender hears of it after the browser")
    func life() throws {
        let browser = try fixture.connect()
        #expect(browser.uaid?.count == 56)
        #expect(browser.line.text.contains("sec-websocket-protocol: push-notification\r\n"))
        let endpoint = try register(browser)
        let sender = try fixture.post("bytes", to: endpoint)
        let notification = try #require(browser.messages("notification").first)
        #expect(browser.contents == ["bytes"])
        #expect(notification["channelID"] as? String == Self.channel)
        #expect(notification["headers"] as? [String: String] == ["encoding": "aes128gcm"])
        #expect(sender.status == nil)
        try browser.acknowledge(notification)
        fixture.run()
        #expect(sender.status == 201)
        #expect(sender.text.contains("\r\nlocation: \(WebFixture.origin)/m/"))
        #expect(sender.text.contains("\r\nttl: 60\r\n"))
        #expect(sender.text.contains("\r\naccess-control-allow-origin: *\r\n"))
        #expect(fixture.shard.report.deviceConnections == 1)
    }

    @Test("keeps messages for a browser that is away, and gives them to it in order and once")
    func away() throws {
        let browser = try fixture.connect()
        let (uaid, endpoint) = (try #require(browser.uaid), try register(browser))
        browser.line.cut()
        fixture.run()
        let senders = try (1...3).map { try fixture.post("\($0)", to: endpoint) }
        fixture.commit()
        #expect(senders.map(\.status) == [201, 201, 201])
        let again = try fixture.connect(uaid)
        #expect(again.uaid == uaid)
        fixture.commit()
        for number in 1...3 {
            #expect(again.contents == (1...number).map { "\($0)" })
            try again.acknowledge(try #require(again.messages("notification").last))
            fixture.run()
        }
        fixture.commit()
        let third = try fixture.connect(uaid)
        #expect(third.uaid == uaid && third.contents.isEmpty)
        #expect(again.closeCode == 1008)
    }

    @Test("keeps the trace context of a message's sender with the message")
    func traceContext() throws {
        let browser = try fixture.connect()
        let endpoint = try register(browser)
        browser.line.cut()
        fixture.run()
        let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        _ = try fixture.post("a", to: endpoint, ["traceparent": parent, "tracestate": "a=1"])
        fixture.commit()
        let context = try #require(fixture.ledger.queued.first).notification.traceContext
        #expect(context == TraceContext(parent: parent, state: "a=1"))
    }

    @Test("replaces a waiting message of the same topic, and never stores one with a TTL of 0")
    func topicsAndTTL() throws {
        let browser = try fixture.connect()
        let (uaid, endpoint) = (try #require(browser.uaid), try register(browser))
        browser.line.cut()
        fixture.run()
        for (body, fields) in [("1", ["Topic": "a"]), ("2", ["Topic": "a"]), ("3", ["TTL": "0"])] {
            let sender = try fixture.post(body, to: endpoint, fields)
            fixture.commit()
            #expect(sender.status == 201)
        }
        let again = try fixture.connect(uaid)
        fixture.commit()
        #expect(again.contents == ["2"])
    }

    @Test("answers messages for ended, unknown and forged addresses, and wrong ones, as RFC 8030 says")
    func refusals() throws {
        let browser = try fixture.connect()
        let endpoint = try register(browser)
        #expect(try fixture.post(to: endpoint, ["TTL": ""]).status == 400)
        #expect(try fixture.post(String(repeating: "a", count: 4097), to: endpoint).status == 413)
        let full = try fixture.post(String(repeating: "a", count: 4096), to: endpoint)
        try browser.acknowledge(try #require(browser.messages("notification").first))
        fixture.run()
        #expect(full.status == 201)
        #expect(try fixture.post(to: endpoint + "0").status == 404)
        #expect(
            try fixture.post(to: endpoint.dropLast() + (endpoint.hasSuffix("0") ? "1" : "0")).status == 404)
        #expect(try fixture.post(to: WebFixture.origin + "/other").status == 404)
        browser.say(#"{"messageType":"unregister","channelID":"\#(Self.channel)"}"#)
        fixture.run()
        fixture.commit()
        #expect(browser.messages("unregister").first?["status"] as? Int == 200)
        let gone = try fixture.post(to: endpoint)
        #expect(gone.status == 410)
        #expect(gone.text.contains(#""errno":106"#))
        // The same channel again is another subscription.
        #expect(try register(browser) != endpoint)
    }

    @Test("lets only its key send where a subscription has one, and keeps that key")
    func senderKey() throws {
        let browser = try fixture.connect()
        let endpoint = try register(browser, key: WebFixture.senderKey)
        #expect(try fixture.post(to: endpoint).status == 401)
        #expect(try register(browser, key: WebFixture.senderKey) == endpoint)
        browser.say(#"{"messageType":"register","channelID":"\#(Self.channel)"}"#)
        fixture.run()
        #expect(browser.messages("register").last?["status"] as? Int == 409)
    }

    @Test("puts refused messages into the trace with their reasons")
    func trace() throws {
        let browser = try fixture.connect()
        let endpoint = try register(browser, key: WebFixture.senderKey)
        #expect(try fixture.post(to: endpoint).status == 401)
        #expect(
            try fixture.post(to: endpoint, ["Authorization": "vapid t=a.b.c, k=\(WebFixture.senderKey)"])
                .status == 403)
        #expect(try fixture.post(to: endpoint + "0").status == 404)
        #expect(try fixture.post(to: endpoint, ["TTL": "soon"]).status == 400)
        fixture.shard.context.trace.flush()
        #expect(
            fixture.refusals.map(\.reason)
                == [.missingProviderToken, .invalidProviderToken, .badDeviceToken, .badExpirationDate])
    }

    @Test("counts messages for the quotas of their topic, and says when one more has room")
    func quotas() throws {
        let quota = try #require(Quota("topic=web-push pushes-per-second=1 payload-bytes=10"))
        let fixture = try WebFixture(quotas: QuotaSet([quota]))
        let browser = try fixture.connect()
        let endpoint = try fixture.register(browser, channel: Self.channel)
        browser.line.cut()
        fixture.run()
        #expect(try fixture.post("more than ten", to: endpoint).status == 413)
        for _ in 1...Limits.pushBurstSeconds {
            let sender = try fixture.post(to: endpoint)
            fixture.commit()
            #expect(sender.status == 201)
        }
        let late = try fixture.post(to: endpoint)
        #expect(late.status == 429 && late.field("retry-after") == "1")
        #expect(late.text.contains(#""errno":201"#))
    }

    @Test("takes subscriptions over from the registry")
    func restored() throws {
        let browser = try fixture.connect()
        let uaid = try #require(browser.uaid)
        browser.say(
            #"{"messageType":"register","channelID":"\#(Self.channel)","key":"\#(WebFixture.senderKey)"}"#)
        fixture.run()
        let changes = fixture.ledger.changes
        fixture.commit()
        let endpoint = try #require(browser.messages("register").first?["pushEndpoint"] as? String)
        let entry = try #require(fixture.shard.home.entries.values.first { _ in true })
        let store = MemoryStore()
        store.apply([.putDevice(entry.device.record)] + changes) { _ in }
        let other = try WebFixture()
        other.shard.restore(try LoadedStore(store, shards: 1))
        #expect(try other.post(to: endpoint).status == 401)
        #expect(try other.connect(uaid, key: "").uaid == uaid)
    }

    @Test("refuses new browsers without an enrolment key, and gives those of another relay a new identity")
    func enrolment() throws {
        let stranger = try fixture.connect(key: "wrong")
        #expect(stranger.uaid == nil && stranger.closeCode == 1008)
        #expect(fixture.logged.contains { $0.contains("unknown enrolment key") })
        #expect(fixture.logged.allSatisfy { !$0.contains(WebFixture.key) })
        let foreign = "5a3f9c0e-6f0e-4a49-8a56-1d1b1f2a3c4d"
        let browser = try fixture.connect(foreign)
        #expect(browser.uaid?.count == 56 && browser.uaid != foreign)
        let guessed = try #require(browser.uaid).dropLast(2) + "zz"
        #expect(try fixture.connect(String(guessed)).uaid != browser.uaid)
    }

    @Test("forgets a browser that the operator removes: its address is unknown then")
    func removal() throws {
        let browser = try fixture.connect()
        let endpoint = try register(browser)
        let entry = try #require(fixture.shard.home.entries.values.first { _ in true })
        let question = ShardMessage.control(.question(.remove(entry.identity), id: 1, asker: 0))
        fixture.shard.context.outbox.send(question, to: 0)
        fixture.run()
        #expect(browser.closeCode == 1001)
        #expect(try fixture.post(to: endpoint).status == 404)
    }

    @Test("answers a registration that could not be stored with 503, and takes the next one")
    func failingDisk() throws {
        let browser = try fixture.connect()
        browser.say(#"{"messageType":"register","channelID":"\#(Self.channel)"}"#)
        fixture.run()
        fixture.commit(isDurable: false)
        #expect(browser.messages("register").last?["status"] as? Int == 503)
        browser.say(#"{"messageType":"register","channelID":"\#(Self.channel)"}"#)
        fixture.run()
        // The registry is corrected first: it may have what it has refused.
        fixture.commit()
        fixture.commit()
        #expect(browser.messages("register").last?["status"] as? Int == 200)
    }

    @Test("closes connections that are slow or idle, and WebSockets without hello")
    func patience() throws {
        let (idle, slow, silent) = (fixture.open(), fixture.open(), Browser(fixture.open(), path: "/"))
        slow.send("POST / HTTP/1.1\r\nHost: a\r\n")
        fixture.run()
        fixture.advance(bySeconds: 16)
        #expect(slow.closed == .stalled("a request without end"))
        #expect(silent.closeCode == 1008)
        #expect(idle.closed == nil)
        fixture.advance(bySeconds: 60)
        #expect(idle.closed == .idleTimeout)
        #expect(silent.line.closed != nil)
        #expect(fixture.shard.web.isEmpty)
    }

    @Test("cuts a WebSocket that answers no ping, and keeps one that does")
    func pings() throws {
        let (quiet, good) = (try fixture.connect(), try fixture.connect())
        for _ in 1...3 {
            fixture.advance(bySeconds: Limits.webPingMilliseconds / 1000)
            good.say(opcode: 10, [])
        }
        #expect(quiet.line.closed == .idleTimeout)
        #expect(good.line.closed == nil)
    }

    @Test("answers CORS preflights, and other methods and requests with what they can have")
    func others() {
        func status(_ request: String) -> Int? {
            let line = fixture.open()
            line.send(request + " HTTP/1.1\r\nHost: a\r\n\r\n")
            fixture.run()
            return line.status
        }
        #expect(status("OPTIONS /push/abc") == 204)
        #expect(status("GET /push/abc") == 405)
        #expect(status("GET /") == 404)
        #expect(status("GET /push") == 404)
    }

    @Test("lets browsers and senders go when the relay stops")
    func drain() throws {
        let browser = try fixture.connect()
        let (endpoint, idle) = (try register(browser), fixture.open())
        let sender = try fixture.post(to: endpoint)
        var messages = [ShardMessage.lifecycle(.drain)]
        fixture.shard.receive(&messages)
        fixture.run()
        #expect(browser.closeCode == 1001)
        #expect(idle.closed == .localClose)
        fixture.advance(bySeconds: 1)
        fixture.commit()
        #expect(sender.status == 201 && sender.closed == .localClose)
    }
}

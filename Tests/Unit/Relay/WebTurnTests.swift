import PostriderDeviceQueue
import PostriderNotifications
import Testing

@testable import PostriderRelay

@Suite("A message that waits for the one before it in its channel")
struct WebTurnTests {
    private static let channel = "d9b74644-4f97-46aa-b8fa-9393985cd6cd"
    private let fixture: WebFixture
    private let browser: Browser
    private let endpoint: String

    init() throws {
        fixture = try WebFixture()
        browser = try fixture.connect()
        endpoint = try fixture.register(browser, channel: Self.channel)
    }

    /// Posts a message and waits for its answer.
    private func post(_ body: String, _ fields: [String: String] = [:]) throws {
        let sender = try fixture.post(body, to: endpoint, fields)
        for _ in 1...10 where sender.status == nil {
            fixture.advance(bySeconds: 1)
            fixture.commit()
        }
        #expect(sender.status == 201)
    }

    /// Acknowledges what has come, and what comes then.
    private func acknowledgeAll() throws {
        var count = 0
        while browser.contents.count > count, let last = browser.messages("notification").last {
            count = browser.contents.count
            try browser.acknowledge(last)
            fixture.run()
        }
    }

    private func tally() throws -> Tally {
        let tally = fixture.shard.report.tally
        let entry = try #require(fixture.shard.home.entries.values.first { _ in true })
        #expect(tally.isBalanced && tally.pending == 0 && entry.device.outstandingCount == 0)
        return tally
    }

    @Test("is not sent if a newer one has replaced it in the meantime")
    func replaced() throws {
        try post("1")
        try post("2", ["Topic": "a"])
        try post("3", ["Topic": "a"])
        try acknowledgeAll()
        #expect(browser.contents == ["1", "3"])
        #expect(try tally().replaced == 1)
    }

    @Test("is not sent after its time to live")
    func expired() throws {
        try post("1")
        try post("2", ["TTL": "20"])
        fixture.advance(bySeconds: 21)
        try post("3")
        try acknowledgeAll()
        #expect(browser.contents == ["1", "3"])
        #expect(try tally().expired == 1)
    }

    @Test("is not sent if its subscription has ended")
    func unsubscribed() throws {
        try post("1")
        try post("2")
        browser.say(#"{"messageType":"unregister","channelID":"\#(Self.channel)","code":200}"#)
        fixture.run()
        fixture.commit()
        #expect(browser.messages("unregister").count == 1)
        try acknowledgeAll()
        #expect(browser.contents == ["1"])
        #expect(try tally()[.unregistered] == 2)
    }

    @Test("is sent once if the one that had replaced it could not be stored")
    func recalled() throws {
        for number in 1..<Limits.deliveryWindow { try post("\(number)", ["TTL": "3600"]) }
        try post("last", ["Topic": "a", "TTL": "3600"])
        let newer = try fixture.post("newer", to: endpoint, ["Topic": "a", "TTL": "3600"])
        fixture.commit(isDurable: false)
        #expect(newer.status == 503)
        try acknowledgeAll()
        #expect(browser.contents == (1..<Limits.deliveryWindow).map { "\($0)" } + ["last"])
        #expect(try tally().recalled == 1)
    }
}

import PostriderDeviceQueue
import Testing

@testable import PostriderRelay

@Suite("The cancellation of a message of Web Push")
struct WebCancellationTests {
    private let fixture: WebFixture
    private let browser: Browser
    private let endpoint: String

    init() throws {
        fixture = try WebFixture()
        browser = try fixture.connect()
        endpoint = try fixture.register(browser, channel: "d9b74644-4f97-46aa-b8fa-9393985cd6cd")
    }

    /// Posts a message for a browser that is away, or does not acknowledge, and returns its address.
    private func post(_ body: String, _ fields: [String: String] = [:]) throws -> String {
        let sender = try fixture.post(body, to: endpoint, fields)
        // A message to a prompt browser is stored when its acknowledgement is late.
        for _ in 1...10 where sender.status == nil {
            fixture.advance(bySeconds: 1)
            fixture.commit()
        }
        #expect(sender.status == 201)
        return try #require(sender.field("location"))
    }

    private func leave() {
        browser.line.cut()
        fixture.run()
    }

    /// What the browser gets when it returns, and acknowledges.
    private func returned() throws -> [String] {
        let again = try fixture.connect(try #require(browser.uaid))
        fixture.commit()
        while let last = again.messages("notification").last {
            let count = again.contents.count
            try again.acknowledge(last)
            fixture.run()
            if again.contents.count == count { break }
        }
        return again.contents
    }

    @Test("keeps it from a browser that was away, and is answered when a restart cannot bring it back")
    func away() throws {
        leave()
        let locations = try ["1", "2", "3"].map { try post($0) }
        let sender = try fixture.request("DELETE", locations[1])
        #expect(sender.status == nil)
        fixture.commit()
        #expect(sender.status == 204)
        #expect(try returned() == ["1", "3"])
        let tally = fixture.shard.report.tally
        #expect(tally.isBalanced && tally[.cancelled] == 1 && tally.delivered == 2)
    }

    @Test("keeps it from a connected browser for as long as its turn has not come")
    func waiting() throws {
        let locations = try ["1", "2", "3"].map { try post($0) }
        #expect(browser.contents == ["1"])
        for location in locations.prefix(2) { _ = try fixture.request("DELETE", location) }
        fixture.commit()
        try browser.acknowledge(try #require(browser.messages("notification").last))
        fixture.run()
        #expect(browser.contents == ["1", "3"])
        try browser.acknowledge(try #require(browser.messages("notification").last))
        fixture.run()
        let tally = fixture.shard.report.tally
        #expect(tally.isBalanced && tally[.cancelled] == 2 && tally.delivered == 1 && tally.pending == 0)
    }

    @Test("is answered with 404 for a message that has ended, or never was")
    func unknown() throws {
        leave()
        let first = try post("1", ["Topic": "a"])
        let second = try post("2", ["Topic": "a"])
        #expect(try fixture.request("DELETE", first).status == 404, "it was replaced")
        _ = try fixture.request("DELETE", second)
        fixture.commit()
        #expect(try fixture.request("DELETE", second).status == 404)
        let other = try fixture.register(
            try fixture.connect(), channel: "a88d719c-cc5c-4d6f-a29a-505e7df2f23f")
        let message = try #require(second.split(separator: "/").last)
        let ofOther = other.replacing("/push/", with: "/m/") + "/" + message
        #expect(try fixture.request("DELETE", ofOther).status == 404, "the message is of another browser")
        for wrong in [
            String(first.dropLast()) + "x", String(first.dropLast(65)), WebFixture.origin + "/m/1/2",
        ] {
            #expect(try fixture.request("DELETE", wrong).status == 404)
        }
        #expect(try fixture.request("GET", first).status == 405)
        #expect(
            try fixture.request("OPTIONS", first).field("access-control-allow-methods") == "DELETE, OPTIONS")
    }

    @Test("is answered with 503 if the disk fails, because a restart may bring the message back")
    func failingDisk() throws {
        leave()
        let sender = try fixture.request("DELETE", try post("1"))
        fixture.commit(isDurable: false)
        #expect(sender.status == 503)
    }
}

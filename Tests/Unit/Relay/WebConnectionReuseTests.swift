import PostriderNotifications
import Testing

@testable import PostriderRelay

@Suite("A connection to the web port that carries several requests")
struct WebConnectionReuseTests {
    private let fixture: WebFixture

    init() throws { fixture = try WebFixture() }

    /// A subscription of a browser that has left, and the browser's device.
    private func subscribe(_ channel: String) throws -> (endpoint: String, device: DeviceIdentity) {
        let before = Set(fixture.shard.home.entries.values.map(\.identity))
        let browser = try fixture.connect()
        let endpoint = try fixture.register(browser, channel: channel)
        browser.line.cut()
        fixture.run()
        let entry = fixture.shard.home.entries.values.first { !before.contains($0.identity) }
        return (endpoint, try #require(entry).identity)
    }

    @Test("takes nothing that is said about a refused message for the next one")
    func refusedMessage() throws {
        let first = try subscribe("d9b74644-4f97-46aa-b8fa-9393985cd6cd")
        let second = try subscribe("0b3cf9a5-2d4e-4b0c-9a5e-1f6e2c7d8a90")
        let sender = try fixture.post("a", to: first.endpoint, ["Prefer": "respond-async"])
        #expect(fixture.shard.home.remove(first.device))
        fixture.run()
        #expect(sender.status == 404)
        // What the ledger says about the first message comes when the second one waits for its answer.
        var late = fixture.ledger.work(isDurable: false)
        let fields = WebClientConnection.usual.merging(["Prefer": "respond-async"]) { $1 }
        try sender.request("POST", second.endpoint, fields, Array("b".utf8))
        fixture.run()
        fixture.shard.receive(&late)
        fixture.run()
        fixture.commit()
        fixture.commit()
        #expect(sender.text.contains("HTTP/1.1 202 ") && !sender.text.contains("HTTP/1.1 201 "))
    }
}

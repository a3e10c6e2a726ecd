import PostriderHTTP2
import PostriderNotifications
import Testing

@testable import PostriderRelay

@Suite("The bounds of a provider's connection")
struct ProviderBoundTests {
    /// A request of a few bytes has an answer of a quarter of a mebibyte.
    @Test("a list of channels is kept for those who take it, and not for who asks for it again and again")
    func listings() throws {
        var settings = SessionSettings()
        settings.initialWindowSize = 100
        settings.automaticWindowUpdates = false
        let fixture = try ProviderFixture(client: settings)
        fixture.makeChannels(Limits.channelsPerApp)
        try fixture.run()
        let streams = try (0..<100).map { _ in try fixture.ask("GET", "/all-channels") }
        let other = try fixture.ask("GET", "/channels")
        try fixture.run()
        #expect(streams.count { fixture.answers.status($0) == 200 } == Limits.listings)
        #expect(streams.count { fixture.answers.status($0) == 429 } == 100 - Limits.listings)
        #expect(fixture.answers.status(other) == 400)
    }

    @Test("lists may be asked for one after the other at will, and tell all channels in order")
    func manyListings() throws {
        let fixture = try ProviderFixture()
        fixture.makeChannels(3)
        for _ in 0..<3 * Limits.listings {
            let stream = try fixture.ask("GET", "/all-channels")
            try fixture.run()
            #expect(
                fixture.answers.all[stream]?.body
                    == #"{"channels":["AAAAAAAAAAEAAAAAAAAAAA==","AAAAAAAAAAEAAAAAAAAAAQ==","#
                    + #""AAAAAAAAAAEAAAAAAAAAAg=="]}"#)
        }
    }

    @Test("while the ledger is behind, pushes and requests about channels are to come again")
    func congestion() throws {
        let fixture = try ProviderFixture()
        fixture.makeChannels(1)
        try fixture.run()
        fixture.stopLedger()
        let streams = [
            try fixture.push(isKept: true), try fixture.ask("GET", "/all-channels"),
            try fixture.ask("POST", "/channels"),
        ]
        try fixture.run()
        // A fault of the request is reported before the limit.
        #expect(streams.map(fixture.answers.status) == [429, 429, 400])
        #expect(fixture.answers.all[streams[1]]?.body == #"{"reason":"TooManyRequests"}"#)
    }
}

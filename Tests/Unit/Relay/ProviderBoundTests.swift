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
        let rig = try ProviderRig(client: settings)
        rig.makeChannels(Limits.channelsPerApp)
        try rig.run()
        let streams = try (0..<100).map { _ in try rig.ask("GET", "/all-channels") }
        let other = try rig.ask("GET", "/channels")
        try rig.run()
        #expect(streams.count { rig.answers.status($0) == 200 } == Limits.listings)
        #expect(streams.count { rig.answers.status($0) == 429 } == 100 - Limits.listings)
        #expect(rig.answers.status(other) == 400)
    }

    @Test("lists may be asked for one after the other at will, and tell all channels in order")
    func manyListings() throws {
        let rig = try ProviderRig()
        rig.makeChannels(3)
        for _ in 0..<3 * Limits.listings {
            let stream = try rig.ask("GET", "/all-channels")
            try rig.run()
            #expect(
                rig.answers.all[stream]?.body
                    == #"{"channels":["AAAAAAAAAAEAAAAAAAAAAA==","AAAAAAAAAAEAAAAAAAAAAQ==","#
                    + #""AAAAAAAAAAEAAAAAAAAAAg=="]}"#)
        }
    }

    @Test("while the ledger is behind, pushes and requests about channels are to come again")
    func congestion() throws {
        let rig = try ProviderRig()
        rig.makeChannels(1)
        try rig.run()
        rig.stopLedger()
        let streams = [
            try rig.push(isKept: true), try rig.ask("GET", "/all-channels"), try rig.ask("POST", "/channels"),
        ]
        try rig.run()
        // A fault of the request is reported before the limit.
        #expect(streams.map(rig.answers.status) == [429, 429, 400])
        #expect(rig.answers.all[streams[1]]?.body == #"{"reason":"TooManyRequests"}"#)
    }
}

import PostriderCrypto
import PostriderHTTP2
import PostriderNotifications
import PostriderTransport
import RelayFixtures
import Testing

@testable import PostriderRelay

@Suite("A provider's connection")
struct ProviderSessionTests {
    /// The fields of a push that is answered at once, for clients that send raw frames.
    private static let fields = Provider.shared.fields(["host": "relay", "apns-expiration": "0"])

    @Test("begins with SETTINGS that say what Apple says")
    func firstFrame() throws {
        let frames = try ProviderFixture().say([])
        #expect(frames.first?.settings == [1: 4096, 3: 1000, 4: 65_535, 5: 16_384, 6: 8000])
    }

    @Test(
        "takes requests as the clients send them",
        arguments: [
            ["host": "relay"], [":authority": "relay:2197"],
            ["content-type": "application/x-www-form-urlencoded"],
            ["content-length": "2"], ["interruption-level": "active", "user-agent": "curl/8"],
        ])
    func clients(_ more: [String: String]) throws {
        let fixture = try ProviderFixture()
        let stream = try fixture.push(more)
        try fixture.run()
        #expect(fixture.answers.status(stream) == 200)
    }

    @Test("answers every PING, at any rate, with the same eight bytes")
    func pings() throws {
        let fixture = try ProviderFixture()
        fixture.say(WireFrame.opening)
        for round in 0..<300 {
            let pings = (0..<10).map { number in
                WireFrame(kind: .ping, payload: [0, 0, 0, 0, 0, 0, UInt8(round & 255), UInt8(number)])
            }
            let pongs = fixture.say(pings.flatMap(\.bytes))
            #expect(pongs.map(\.kind) == pings.map(\.kind) && pongs.allSatisfy { $0.flags == 1 })
            #expect(pongs.map(\.payload) == pings.map(\.payload))
        }
        #expect(fixture.closed == nil)
    }

    @Test(
        "lives with an empty SETTINGS frame, with ENABLE_PUSH, and with resets of streams that are answered")
    func quirks() throws {
        let fixture = try ProviderFixture()
        fixture.say(WireFrame.preface + WireFrame.settings([2: 1, 3: 100]).bytes)
        for number in UInt32(0)..<200 {
            let stream = number * 2 + 1
            let answer = fixture.say(WireFrame.request(stream, Self.fields) + WireFrame.settings([:]).bytes)
            #expect(answer.filter { $0.stream == stream }.map(\.kind) == [.headers])
            #expect(answer.contains { $0.kind == .settings && $0.flags == 1 })
            fixture.say(WireFrame(kind: .reset, stream: stream, payload: [0, 0, 0, 8]).bytes)
        }
        #expect(fixture.closed == nil && !fixture.frames.contains { $0.kind == .goaway || $0.kind == .push })
    }

    @Test("tells a unique identifier with each 200 in the development environment, and nowhere else")
    func uniqueIdentifier() throws {
        let fixture = try ProviderFixture(.development)
        let path = "/3/device/" + ProviderFixture.developmentToken
        let streams = try ["10", "5", "7"].map { try fixture.push([":path": path, "apns-priority": $0]) }
        try fixture.run()
        #expect(streams.map(fixture.answers.status) == [200, 200, 400])
        let identities = streams.compactMap { fixture.answers.all[$0]?.fields["apns-unique-id"] }
        #expect(Set(identities).count == 2 && identities.count == 2)
        for identity in identities {
            #expect(identity == identity.lowercased() && NotificationIdentity(identity) != nil)
        }
        let production = try ProviderFixture()
        let stream = try production.push()
        try production.run()
        #expect(production.answers.status(stream) == 200)
        #expect(production.answers.all[stream]?.fields["apns-unique-id"] == nil)
    }

    @Test("refuses a token of the other environment")
    func environments() throws {
        for environment in PostriderNotifications.Environment.allCases {
            let fixture = try ProviderFixture(environment)
            let streams = try [Provider.deviceToken, ProviderFixture.developmentToken].map { token in
                try fixture.push([":path": "/3/device/" + token])
            }
            try fixture.run()
            let expected = environment == .production ? [200, 400] : [400, 200]
            #expect(streams.map(fixture.answers.status) == expected)
            let refused = streams[expected[0] == 400 ? 0 : 1]
            #expect(fixture.answers.all[refused]?.body == #"{"reason":"BadDeviceToken"}"#)
        }
    }

    @Test(
        "answers HEAD without a body, which it must not have",
        arguments: ["/3/device/ab", "/1/apps/a/channels"]
    )
    func head(_ path: String) throws {
        let fixture = try ProviderFixture()
        fixture.say(WireFrame.opening)
        let fields = Provider.shared.fields([":method": "HEAD", ":path": path, "host": "relay"])
        let frames = fixture.say(WireFrame.request(1, fields)).filter { $0.stream == 1 }
        #expect(frames.map(\.kind) == [.headers] && frames.first.map { $0.flags & 1 } == 1)
    }

    // MARK: The end

    /// The contents of the relay's GOAWAYs. If the client has no stream, nghttp2 does not report the second one.
    private func farewells(of fixture: ProviderFixture) -> [String] {
        fixture.frames.filter { $0.kind == .goaway }.map { frame in
            let words = [0, 4].map { start in
                frame.payload[start..<start + 4].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            }
            return "\(words[0]) \(words[1]) \(String(decoding: frame.payload[8...], as: UTF8.self))"
        }
    }

    /// The contents of both GOAWAYs of an orderly end.
    private func farewells(_ lastStream: Int32, _ reason: String) -> [String] {
        [Int32.max, lastStream].map { #"\#($0) 0 {"reason":"\#(reason)"}"# }
    }

    @Test(
        "says GOAWAY in a drain when every open push is answered; a new one gets 503 meanwhile",
        .bug(id: "R21"))
    func drain() throws {
        let fixture = try ProviderFixture()
        let open = try fixture.push(isKept: true)
        try fixture.run()
        fixture.drain()
        let late = try fixture.push()
        try fixture.run()
        #expect(
            fixture.answers.status(open) == nil && fixture.closed == nil && farewells(of: fixture).isEmpty)
        #expect(fixture.answers.all[late].map { "\($0.status) \($0.body)" } == #"503 {"reason":"Shutdown"}"#)
        fixture.commit()
        try fixture.run()
        #expect(fixture.answers.status(open) == 200)
        #expect(farewells(of: fixture) == farewells(late, "Shutdown"))
        #expect(fixture.closed == .localClose && fixture.frames.last?.kind == .goaway)
    }

    @Test("answers a request about channels in a drain with 503 Shutdown")
    func channelsInDrain() throws {
        let fixture = try ProviderFixture()
        try fixture.push(isKept: true)
        try fixture.run()
        fixture.drain()
        let late = try fixture.push([":path": "/1/apps/com.example.app/channels"])
        try fixture.run()
        #expect(fixture.answers.all[late].map { "\($0.status) \($0.body)" } == #"503 {"reason":"Shutdown"}"#)
        #expect(fixture.closed == nil)
    }

    @Test("says GOAWAY in a drain where no push is open")
    func idleDrain() throws {
        let fixture = try ProviderFixture()
        try fixture.run()
        fixture.drain()
        try fixture.run()
        #expect(farewells(of: fixture) == farewells(0, "Shutdown"))
    }

    @Test("ends when it was without a push for as long as is set, and not while one is open")
    func idle() throws {
        let fixture = try ProviderFixture(idleMilliseconds: 10_000)
        try fixture.push()
        try fixture.run()
        fixture.advance(byMilliseconds: 9000)
        try fixture.push(isKept: true)
        try fixture.run()
        fixture.advance(byMilliseconds: 30_000)
        #expect(fixture.closed == nil)
        fixture.commit()
        fixture.advance(byMilliseconds: 1000)
        try fixture.run()
        #expect(fixture.closed == .idleTimeout)
        #expect(farewells(of: fixture) == farewells(3, "IdleTimeout"))
    }

    @Test("may stay silent for as long as is set, and ask for signs of life every second meanwhile")
    func silent() throws {
        let day = 24 * 60 * 60
        let fixture = try ProviderFixture(idleMilliseconds: day * 1000)
        fixture.say(WireFrame.opening + WireFrame.settingsAcknowledgement.bytes)
        let ping = WireFrame(kind: .ping, payload: [UInt8](repeating: 7, count: 8)).bytes
        for _ in 1..<day where fixture.closed == nil {
            fixture.advance(byMilliseconds: 1000)
            fixture.say(ping)
        }
        #expect(fixture.closed == nil)
        fixture.advance(byMilliseconds: 1000)
        let told = fixture.say([])
        let asked = told.first { $0.kind == .ping }
        #expect(told.map(\.kind) == [.ping, .goaway] && fixture.closed == nil)
        fixture.say(WireFrame(kind: .ping, flags: 1, payload: asked?.payload ?? []).bytes)
        #expect(fixture.closed == .idleTimeout)
    }

    @Test("serves a push that comes while an idle connection is being ended", .bug(id: "R21"))
    func lateForIdleness() throws {
        let fixture = try ProviderFixture(idleMilliseconds: 10_000)
        try fixture.run()
        fixture.advance(byMilliseconds: 10_000)
        let late = try fixture.push()
        try fixture.run()
        #expect(fixture.answers.status(late) == 200)
        #expect(farewells(of: fixture) == farewells(late, "IdleTimeout") && fixture.closed == .idleTimeout)
    }
}

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
        let frames = try ProviderRig().say([])
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
        let rig = try ProviderRig()
        let stream = try rig.push(more)
        try rig.run()
        #expect(rig.answers.status(stream) == 200)
    }

    @Test("answers every PING, at any rate, with the same eight bytes")
    func pings() throws {
        let rig = try ProviderRig()
        rig.say(WireFrame.opening)
        for round in 0..<300 {
            let pings = (0..<10).map { number in
                WireFrame(kind: .ping, payload: [0, 0, 0, 0, 0, 0, UInt8(round & 255), UInt8(number)])
            }
            let pongs = rig.say(pings.flatMap(\.bytes))
            #expect(pongs.map(\.kind) == pings.map(\.kind) && pongs.allSatisfy { $0.flags == 1 })
            #expect(pongs.map(\.payload) == pings.map(\.payload))
        }
        #expect(rig.closed == nil)
    }

    @Test(
        "lives with an empty SETTINGS frame, with ENABLE_PUSH, and with resets of streams that are answered")
    func quirks() throws {
        let rig = try ProviderRig()
        rig.say(WireFrame.preface + WireFrame.settings([2: 1, 3: 100]).bytes)
        for number in UInt32(0)..<200 {
            let stream = number * 2 + 1
            let answer = rig.say(WireFrame.request(stream, Self.fields) + WireFrame.settings([:]).bytes)
            #expect(answer.filter { $0.stream == stream }.map(\.kind) == [.headers])
            #expect(answer.contains { $0.kind == .settings && $0.flags == 1 })
            rig.say(WireFrame(kind: .reset, stream: stream, payload: [0, 0, 0, 8]).bytes)
        }
        #expect(rig.closed == nil && !rig.frames.contains { $0.kind == .goaway || $0.kind == .push })
    }

    @Test("tells a unique identifier with each 200 in the development environment, and nowhere else")
    func uniqueIdentifier() throws {
        let rig = try ProviderRig(.development)
        let path = "/3/device/" + ProviderRig.developmentToken
        let streams = try ["10", "5", "7"].map { try rig.push([":path": path, "apns-priority": $0]) }
        try rig.run()
        #expect(streams.map(rig.answers.status) == [200, 200, 400])
        let identities = streams.compactMap { rig.answers.all[$0]?.fields["apns-unique-id"] }
        #expect(Set(identities).count == 2 && identities.count == 2)
        for identity in identities {
            #expect(identity == identity.lowercased() && NotificationIdentity(identity) != nil)
        }
        let production = try ProviderRig()
        let stream = try production.push()
        try production.run()
        #expect(production.answers.status(stream) == 200)
        #expect(production.answers.all[stream]?.fields["apns-unique-id"] == nil)
    }

    @Test("refuses a token of the other environment")
    func environments() throws {
        for environment in PostriderNotifications.Environment.allCases {
            let rig = try ProviderRig(environment)
            let streams = try [Provider.deviceToken, ProviderRig.developmentToken].map { token in
                try rig.push([":path": "/3/device/" + token])
            }
            try rig.run()
            let expected = environment == .production ? [200, 400] : [400, 200]
            #expect(streams.map(rig.answers.status) == expected)
            let refused = streams[expected[0] == 400 ? 0 : 1]
            #expect(rig.answers.all[refused]?.body == #"{"reason":"BadDeviceToken"}"#)
        }
    }

    @Test(
        "answers HEAD without a body, which it must not have",
        arguments: ["/3/device/ab", "/1/apps/a/channels"]
    )
    func head(_ path: String) throws {
        let rig = try ProviderRig()
        rig.say(WireFrame.opening)
        let fields = Provider.shared.fields([":method": "HEAD", ":path": path, "host": "relay"])
        let frames = rig.say(WireFrame.request(1, fields)).filter { $0.stream == 1 }
        #expect(frames.map(\.kind) == [.headers] && frames.first.map { $0.flags & 1 } == 1)
    }

    // MARK: The end

    /// The contents of the relay's GOAWAYs. If the client has no stream, nghttp2 does not report the second one.
    private func farewells(of rig: ProviderRig) -> [String] {
        rig.frames.filter { $0.kind == .goaway }.map { frame in
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
        let rig = try ProviderRig()
        let open = try rig.push(isKept: true)
        try rig.run()
        rig.drain()
        let late = try rig.push()
        try rig.run()
        #expect(rig.answers.status(open) == nil && rig.closed == nil && farewells(of: rig).isEmpty)
        #expect(rig.answers.all[late].map { "\($0.status) \($0.body)" } == #"503 {"reason":"Shutdown"}"#)
        rig.commit()
        try rig.run()
        #expect(rig.answers.status(open) == 200)
        #expect(farewells(of: rig) == farewells(late, "Shutdown"))
        #expect(rig.closed == .localClose && rig.frames.last?.kind == .goaway)
    }

    @Test("answers a request about channels in a drain with 503 Shutdown")
    func channelsInDrain() throws {
        let rig = try ProviderRig()
        try rig.push(isKept: true)
        try rig.run()
        rig.drain()
        let late = try rig.push([":path": "/1/apps/com.example.app/channels"])
        try rig.run()
        #expect(rig.answers.all[late].map { "\($0.status) \($0.body)" } == #"503 {"reason":"Shutdown"}"#)
        #expect(rig.closed == nil)
    }

    @Test("says GOAWAY in a drain where no push is open")
    func idleDrain() throws {
        let rig = try ProviderRig()
        try rig.run()
        rig.drain()
        try rig.run()
        #expect(farewells(of: rig) == farewells(0, "Shutdown"))
    }

    @Test("ends when it was without a push for as long as is set, and not while one is open")
    func idle() throws {
        let rig = try ProviderRig(idleMilliseconds: 10_000)
        try rig.push()
        try rig.run()
        rig.advance(byMilliseconds: 9000)
        try rig.push(isKept: true)
        try rig.run()
        rig.advance(byMilliseconds: 30_000)
        #expect(rig.closed == nil)
        rig.commit()
        rig.advance(byMilliseconds: 1000)
        try rig.run()
        #expect(rig.closed == .idleTimeout)
        #expect(farewells(of: rig) == farewells(3, "IdleTimeout"))
    }

    @Test("may stay silent for as long as is set, and ask for signs of life every second meanwhile")
    func silent() throws {
        let day = 24 * 60 * 60
        let rig = try ProviderRig(idleMilliseconds: day * 1000)
        rig.say(WireFrame.opening + WireFrame.settingsAcknowledgement.bytes)
        let ping = WireFrame(kind: .ping, payload: [UInt8](repeating: 7, count: 8)).bytes
        for _ in 1..<day where rig.closed == nil {
            rig.advance(byMilliseconds: 1000)
            rig.say(ping)
        }
        #expect(rig.closed == nil)
        rig.advance(byMilliseconds: 1000)
        let told = rig.say([])
        let asked = told.first { $0.kind == .ping }
        #expect(told.map(\.kind) == [.ping, .goaway] && rig.closed == nil)
        rig.say(WireFrame(kind: .ping, flags: 1, payload: asked?.payload ?? []).bytes)
        #expect(rig.closed == .idleTimeout)
    }

    @Test("serves a push that comes while an idle connection is being ended", .bug(id: "R21"))
    func lateForIdleness() throws {
        let rig = try ProviderRig(idleMilliseconds: 10_000)
        try rig.run()
        rig.advance(byMilliseconds: 10_000)
        let late = try rig.push()
        try rig.run()
        #expect(rig.answers.status(late) == 200)
        #expect(farewells(of: rig) == farewells(late, "IdleTimeout") && rig.closed == .idleTimeout)
    }
}

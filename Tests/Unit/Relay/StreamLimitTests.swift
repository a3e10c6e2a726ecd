import PostriderCrypto
import PostriderHTTP2
import PostriderNotifications
import PostriderTransport
import RelayFixtures
import Testing

@testable import PostriderRelay

@Suite("The stream limit of a provider's connection")
struct StreamLimitTests {
    private static let ramp: APNsCompatibility = {
        var fidelity = APNsCompatibility()
        fidelity.rampsStreamLimit = true
        return fidelity
    }()

    @Test("is 1000 at once where it is not to ramp, and for a provider with a certificate")
    func atOnce() throws {
        let authority = try Certificates.makeAuthority(commonName: "Test authority", validDays: 1)
        let issued = try Certificates.issue(
            commonName: "provider", userIdentifier: "com.example.app", usage: .client, validDays: 1,
            authority: authority)
        let certificate = PeerCertificate(der: try #require(der(ofPEM: issued.certificate)), isVerified: true)
        let peer = Peer(address: "test", certificate: certificate)
        for fixture in [try ProviderFixture(), try ProviderFixture(fidelity: Self.ramp, peer: peer)] {
            try fixture.push()
            try fixture.run()
            #expect(fixture.frames.compactMap(\.streamLimit) == [1000])
        }
    }

    @Test("begins with 1, and is 1000 right before the first answer to a push whose token was good")
    func ramp() throws {
        let fixture = try ProviderFixture(fidelity: Self.ramp)
        try fixture.run()
        #expect(fixture.frames.compactMap(\.streamLimit) == [1])
        for _ in 1...3 {
            try fixture.push()
            try fixture.run()
        }
        let told = fixture.frames.filter { $0.streamLimit != nil || $0.kind == .headers }.map(\.kind)
        #expect(told == [.settings, .settings, .headers, .headers, .headers])
        #expect(fixture.frames.compactMap(\.streamLimit) == [1, 1000])
    }

    @Test(
        "rises whatever else was wrong with the push, and not before the provider is known",
        arguments: [
            (["apns-priority": "7"], 400, [1, 1000]), ([":path": "/3/device/00"], 400, [1, 1000]),
            (["authorization": "bearer x"], 403, [1]), (["authorization": nil], 403, [1]),
            ([":method": "GET"], 405, [1]),
        ] as [([String: String?], Int, [UInt32])])
    func refused(_ changes: [String: String?], _ status: Int, _ limits: [UInt32]) throws {
        let fixture = try ProviderFixture(fidelity: Self.ramp)
        let stream = try fixture.push(changes)
        try fixture.run()
        #expect(fixture.answers.status(stream) == status)
        #expect(fixture.frames.compactMap(\.streamLimit) == limits)
    }

    @Test("is kept by a client, and all that it had in hand is answered once the limit has risen")
    func burst() throws {
        let fixture = try ProviderFixture(fidelity: Self.ramp)
        try fixture.run()
        let streams = try (0..<50).map { _ in try fixture.push() }
        try fixture.run()
        #expect(streams.allSatisfy { fixture.answers.status($0) == 200 })
    }

    @Test("refuses nobody: streams opened before it was read, or in spite of it, are served")
    func overtaken() throws {
        let fields = Provider.shared.fields([
            "host": "relay", "apns-expiration": "0", "authorization": "bearer x",
        ])
        let fixture = try ProviderFixture(fidelity: Self.ramp)
        // None of these requests is authenticated, so the limit stays.
        let early = fixture.say(
            WireFrame.opening + [1, 3, 5].flatMap { WireFrame.request($0, fields) })
        #expect(early.first?.streamLimit == 1)
        #expect(early.filter { $0.kind == .headers }.map(\.stream) == [1, 3, 5])
        // These streams are open at the same time, after the limit was acknowledged.
        let heads = [7, 9, 11].map { Array(WireFrame.request($0, fields).dropLast(11)) }
        let bodies = [7, 9, 11].map { Array(WireFrame.request($0, fields).suffix(11)) }
        let late = fixture.say(WireFrame.settingsAcknowledgement.bytes + (heads + bodies).flatMap { $0 })
        #expect(late.filter { $0.kind == .headers }.map(\.stream) == [7, 9, 11])
        #expect(!fixture.frames.contains { $0.kind == .reset || $0.kind == .goaway } && fixture.closed == nil)
    }
}

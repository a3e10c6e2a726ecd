import PostriderClients
import PostriderNotifications
import PostriderRelay
import PostriderTLS
import Testing

@testable import PostriderTransport

/// Each setting is changed while the relay runs and a provider is connected, and what the relay does next shows it.
@Suite("A reload of a running relay")
struct ReloadedRelayTests {
    /// Runs a relay with one shard and a registered device that is away.
    private func withRelay(
        _ body: (RelayFixture, _ token: String, _ provider: ProviderClient) async throws -> Void
    ) async throws {
        let fixture = try await RelayFixture(shards: 1)
        let recorder = Recorder()
        let client = DeviceClient(
            try fixture.deviceConfiguration(), topics: [RelayFixture.topic: .production], on: fixture.loop,
            random: { 0 }, delegate: recorder)
        client.start()
        fixture.loop.turn { recorder.tokens[RelayFixture.topic] != nil }
        var isStopped = false
        client.stop { isStopped = true }
        fixture.loop.turn { isStopped }
        let token = try #require(recorder.tokens[RelayFixture.topic])
        let provider = try fixture.makeProvider()
        try await body(fixture, token.hex, provider)
        provider.close()
        await fixture.stop()
    }

    private func push(to token: String, _ change: (inout Push) -> Void = { _ in }) -> Push {
        var push = Push(to: token, topic: Topic(RelayFixture.topic), payload: Array("{}".utf8))
        change(&push)
        return push
    }

    @Test("changes the pushes per second of a token, down and up again")
    func pushesPerSecond() async throws {
        try await withRelay { fixture, token, provider in
            #expect(try fixture.push(push(to: token), provider).status == 200)
            try await fixture.reload { $0.pushesPerSecond = 1 }
            // A bucket of one push a second holds ten; a slow machine may get some more.
            var statuses: [Int] = []
            while statuses.last != 429, statuses.count < 1000 {
                statuses.append(try fixture.push(push(to: token), provider).status)
            }
            #expect(statuses.last == 429 && statuses.count <= 1000)
            try await fixture.reload { $0.pushesPerSecond = nil }
            for _ in 0..<20 { #expect(try fixture.push(push(to: token), provider).status == 200) }
        }
    }

    @Test("changes the strictness for connections that are open")
    func strictness() async throws {
        try await withRelay { fixture, token, provider in
            let odd = push(to: token) { ($0.pushType, $0.priority) = (.background, .immediate) }
            #expect(try fixture.push(odd, provider).status == 200)
            try await fixture.reload { $0.fidelity.isStrict = true }
            #expect(try fixture.push(odd, provider).reason == "BadPriority")
            try await fixture.reload { $0.fidelity.isStrict = false }
            #expect(try fixture.push(odd, provider).status == 200)
        }
    }

    @Test("changes how much waits for an absent device, without touching what waits already")
    func storage() async throws {
        try await withRelay { fixture, token, provider in
            for _ in 0..<3 { #expect(try fixture.push(push(to: token), provider).status == 200) }
            #expect(try fixture.counters().pending == 3)
            try await fixture.reload { $0.fidelity.storage = .latest }
            for _ in 0..<3 { #expect(try fixture.push(push(to: token), provider).status == 200) }
            let counters = try fixture.counters()
            #expect(counters.pending == 4 && counters.replaced == 2 && counters.isBalanced)
        }
    }

    @Test("ends an idle provider's connection that was open under a longer limit")
    func providerIdle() async throws {
        try await withRelay { fixture, token, provider in
            #expect(try fixture.push(push(to: token), provider).status == 200)
            var end: CloseReason?
            provider.onClose = { end = $0 }
            try await fixture.reload { $0.providerIdleSeconds = 1 }
            fixture.loop.turn { end != nil }
            #expect(end != nil)
        }
    }

    @Test("changes how many connections a source has, and keeps those that are open")
    func sourceConnections() async throws {
        try await withRelay { fixture, token, provider in
            #expect(try fixture.push(push(to: token), provider).status == 200)
            try await fixture.reload { $0.sourceConnections = 1 }
            let other = try fixture.makeProvider()
            let refused = Result { try fixture.push(push(to: token), other) }
            #expect(throws: (any Error).self) { try refused.get() }
            #expect(try fixture.push(push(to: token), provider).status == 200)
            try await fixture.reload { $0.sourceConnections = 100 }
            let third = try fixture.makeProvider()
            #expect(try fixture.push(push(to: token), third).status == 200)
            third.close()
        }
    }

    @Test("changes how fast a source may connect")
    func sourceRate() async throws {
        try await withRelay { fixture, token, provider in
            try await fixture.reload { $0.sourceRate = 1 }
            var refused = false
            for _ in 0..<100 where !refused {
                let other = try fixture.makeProvider()
                refused = (try? fixture.push(push(to: token), other)) == nil
                other.close()
            }
            #expect(refused)
            try await fixture.reload { $0.sourceRate = 100_000 }
            #expect(try fixture.push(push(to: token), provider).status == 200)
        }
    }

    @Test("that fails because of a file changes no other setting")
    func nothing() async throws {
        try await withRelay { fixture, token, provider in
            await #expect(throws: (any Error).self) {
                try await fixture.reload {
                    $0.certificateChainFile = "/nowhere/relay.pem"
                    $0.fidelity.isStrict = true
                }
            }
            let odd = push(to: token) { ($0.pushType, $0.priority) = (.background, .immediate) }
            let status = try fixture.push(odd, provider).status
            #expect(status == 200)
        }
    }

    @Test("of the protocol code counts for new connections, and those that are open go on")
    func protocolCode() async throws {
        try await withRelay { fixture, token, provider in
            #expect(try fixture.push(push(to: token), provider).status == 200)
            try await fixture.reload {
                $0.protocolCode = .nghttp2
                $0.tlsRecords = .openssl
                $0.busyPollingMicroseconds = 50
            }
            let other = try fixture.makeProvider()
            #expect(try fixture.push(push(to: token), other).status == 200)
            #expect(try fixture.push(push(to: token), provider).status == 200)
            other.close()
        }
    }
}

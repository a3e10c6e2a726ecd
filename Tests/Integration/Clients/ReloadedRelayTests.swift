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
        _ body: (RelayRig, _ token: String, _ provider: ProviderClient) async throws -> Void
    ) async throws {
        let rig = try await RelayRig(shards: 1)
        let recorder = Recorder()
        let client = DeviceClient(
            try rig.deviceConfiguration(), topics: [RelayRig.topic: .production], on: rig.loop,
            random: { 0 }, delegate: recorder)
        client.start()
        rig.loop.turn { recorder.tokens[RelayRig.topic] != nil }
        var isStopped = false
        client.stop { isStopped = true }
        rig.loop.turn { isStopped }
        let token = try #require(recorder.tokens[RelayRig.topic])
        let provider = try rig.makeProvider()
        try await body(rig, token.hex, provider)
        provider.close()
        await rig.stop()
    }

    private func push(to token: String, _ change: (inout Push) -> Void = { _ in }) -> Push {
        var push = Push(to: token, topic: Topic(RelayRig.topic), payload: Array("{}".utf8))
        change(&push)
        return push
    }

    @Test("changes the pushes per second of a token, down and up again")
    func pushesPerSecond() async throws {
        try await withRelay { rig, token, provider in
            #expect(try rig.push(push(to: token), provider).status == 200)
            try await rig.reload { $0.pushesPerSecond = 1 }
            // A bucket of one push a second holds ten; a slow machine may get some more.
            var statuses: [Int] = []
            while statuses.last != 429, statuses.count < 1000 {
                statuses.append(try rig.push(push(to: token), provider).status)
            }
            #expect(statuses.last == 429 && statuses.count <= 1000)
            try await rig.reload { $0.pushesPerSecond = nil }
            for _ in 0..<20 { #expect(try rig.push(push(to: token), provider).status == 200) }
        }
    }

    @Test("changes the strictness for connections that are open")
    func strictness() async throws {
        try await withRelay { rig, token, provider in
            let odd = push(to: token) { ($0.pushType, $0.priority) = (.background, .immediate) }
            #expect(try rig.push(odd, provider).status == 200)
            try await rig.reload { $0.fidelity.isStrict = true }
            #expect(try rig.push(odd, provider).reason == "BadPriority")
            try await rig.reload { $0.fidelity.isStrict = false }
            #expect(try rig.push(odd, provider).status == 200)
        }
    }

    @Test("changes how much waits for an absent device, without touching what waits already")
    func storage() async throws {
        try await withRelay { rig, token, provider in
            for _ in 0..<3 { #expect(try rig.push(push(to: token), provider).status == 200) }
            #expect(try rig.counters().pending == 3)
            try await rig.reload { $0.fidelity.storage = .latest }
            for _ in 0..<3 { #expect(try rig.push(push(to: token), provider).status == 200) }
            let counters = try rig.counters()
            #expect(counters.pending == 4 && counters.replaced == 2 && counters.isBalanced)
        }
    }

    @Test("ends an idle provider's connection that was open under a longer limit")
    func providerIdle() async throws {
        try await withRelay { rig, token, provider in
            #expect(try rig.push(push(to: token), provider).status == 200)
            var end: CloseReason?
            provider.onClose = { end = $0 }
            try await rig.reload { $0.providerIdleSeconds = 1 }
            rig.loop.turn { end != nil }
            #expect(end != nil)
        }
    }

    @Test("changes how many connections a source has, and keeps those that are open")
    func sourceConnections() async throws {
        try await withRelay { rig, token, provider in
            #expect(try rig.push(push(to: token), provider).status == 200)
            try await rig.reload { $0.sourceConnections = 1 }
            let other = try rig.makeProvider()
            let refused = Result { try rig.push(push(to: token), other) }
            #expect(throws: (any Error).self) { try refused.get() }
            #expect(try rig.push(push(to: token), provider).status == 200)
            try await rig.reload { $0.sourceConnections = 100 }
            let third = try rig.makeProvider()
            #expect(try rig.push(push(to: token), third).status == 200)
            third.close()
        }
    }

    @Test("changes how fast a source may connect")
    func sourceRate() async throws {
        try await withRelay { rig, token, provider in
            try await rig.reload { $0.sourceRate = 1 }
            var refused = false
            for _ in 0..<100 where !refused {
                let other = try rig.makeProvider()
                refused = (try? rig.push(push(to: token), other)) == nil
                other.close()
            }
            #expect(refused)
            try await rig.reload { $0.sourceRate = 100_000 }
            #expect(try rig.push(push(to: token), provider).status == 200)
        }
    }

    @Test("that fails because of a file changes no other setting")
    func nothing() async throws {
        try await withRelay { rig, token, provider in
            await #expect(throws: (any Error).self) {
                try await rig.reload {
                    $0.certificateChainFile = "/nowhere/relay.pem"
                    $0.fidelity.isStrict = true
                }
            }
            let odd = push(to: token) { ($0.pushType, $0.priority) = (.background, .immediate) }
            let status = try rig.push(odd, provider).status
            #expect(status == 200)
        }
    }

    @Test("of the protocol code counts for new connections, and those that are open go on")
    func protocolCode() async throws {
        try await withRelay { rig, token, provider in
            #expect(try rig.push(push(to: token), provider).status == 200)
            try await rig.reload {
                $0.protocolCode = .nghttp2
                $0.tlsRecords = .openssl
                $0.busyPollingMicroseconds = 50
            }
            let other = try rig.makeProvider()
            #expect(try rig.push(push(to: token), other).status == 200)
            #expect(try rig.push(push(to: token), provider).status == 200)
            other.close()
        }
    }
}

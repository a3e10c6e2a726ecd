import PostriderClients
import PostriderCourier
import PostriderNotifications
import PostriderRelay
import Testing

@testable import PostriderTransport

@Suite("A reconnect storm", .timeLimit(.minutes(10)))
struct ReconnectStormTests {
    private func push(to token: DeviceToken) -> Push {
        Push(to: token.hex, topic: Topic(RelayFixture.topic), payload: Array("{}".utf8))
    }

    @Test("ends with everybody in and everything delivered, and providers are answered all the while")
    func storm() async throws {
        let count = 150
        let fixture = try await RelayFixture(shards: 2, fetches: 1)
        let provider = try fixture.makeProvider()
        var owners: [(recorder: Recorder, client: DeviceClient)] = []
        for _ in 0..<count {
            let recorder = Recorder()
            var configuration = try fixture.deviceConfiguration()
            configuration.welcomeMilliseconds = 60_000
            let client = DeviceClient(
                configuration, topics: [RelayFixture.topic: .production], on: fixture.loop,
                random: { UInt64.random(in: .min ... .max) }, delegate: recorder)
            owners.append((recorder, client))
            recorder.onDelivery = { [unowned client] deliver, link in
                client.acknowledge([deliver.delivery], over: link)
            }
        }
        for owner in owners { owner.client.start() }
        fixture.loop.turn { owners.allSatisfy { $0.recorder.tokens[RelayFixture.topic] != nil } }
        for owner in owners { owner.client.stop() }
        fixture.loop.turn { owners.allSatisfy { !$0.recorder.ends.isEmpty } }
        for (recorder, _) in owners {
            let token = try #require(recorder.tokens[RelayFixture.topic])
            let outcome = try fixture.push(push(to: token), provider)
            #expect(outcome.status == 200)
        }
        for owner in owners { owner.client.start() }
        // Providers push all the while, and wait for no device.
        let absent = try #require(owners[0].recorder.tokens[RelayFixture.topic])
        var (answered, rounds) = (0, 0)
        while !owners.allSatisfy({ $0.client.isConnected && !$0.recorder.delivered.isEmpty }) {
            let outcome = try fixture.push(push(to: absent), provider)
            answered += outcome.status == 200 ? 1 : 0
            rounds += 1
        }
        #expect(answered == rounds && rounds > 0)
        for (recorder, _) in owners.dropFirst() { #expect(recorder.delivered.count == 1) }
        let status = try fixture.status()
        #expect(status.counters.isBalanced && status.deviceConnections == count)
        let deferred = owners.reduce(0) { sum, owner in
            sum + owner.recorder.ends.count { if case .goodbye = $0.end { true } else { false } }
        }
        #expect(status.deferredDevices == UInt64(deferred))
        await fixture.stop()
    }
}

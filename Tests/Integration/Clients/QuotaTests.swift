import PostriderClients
import PostriderCourier
import PostriderMetrics
import PostriderNotifications
import PostriderRelay
import Testing

@testable import PostriderTransport

/// Quotas of a relay with two shards, whose devices have their homes on both.
@Suite("Quotas of a running relay")
struct QuotaTests {
    /// Connects a device, and waits until it has a token or is refused one.
    private func connect(_ fixture: RelayFixture) throws -> (client: DeviceClient, recorder: Recorder) {
        let recorder = Recorder()
        let client = DeviceClient(
            try fixture.deviceConfiguration(), topics: [RelayFixture.topic: .production], on: fixture.loop,
            random: { 0 }, delegate: recorder)
        client.start()
        fixture.loop.turn { recorder.tokens[RelayFixture.topic] != nil || !recorder.refusals.isEmpty }
        return (client, recorder)
    }

    private func stop(_ device: (client: DeviceClient, recorder: Recorder), _ fixture: RelayFixture) {
        var isStopped = false
        device.client.stop { isStopped = true }
        fixture.loop.turn { isStopped }
    }

    /// The sample of a family with these labels, as the relay reports it.
    private func measure(_ fixture: RelayFixture, _ name: String, _ limit: String) async -> UInt64? {
        let measurement = await withCheckedContinuation { continuation in
            fixture.relay.measure { continuation.resume(returning: $0) }
        }
        let samples = measurement.families.first { $0.name == name }?.samples ?? []
        let sample = samples.first { $0.labels.contains { $0 == ("limit", limit) } }
        return switch sample?.value {
        case .integer(let value)?: UInt64(value)
        case .unsigned(let value)?: value
        case .fraction?, nil: nil
        }
    }

    @Test("refuse the next device a token, count over all shards, and a reload makes room")
    func devices() async throws {
        let fixture = try await RelayFixture(shards: 2)
        try await fixture.reload { $0.quotas = ["team=TEAM1 devices=4"].compactMap(Quota.init) }
        var devices: [(client: DeviceClient, recorder: Recorder)] = []
        for _ in 0..<4 {
            let device = try connect(fixture)
            #expect(device.recorder.refusals.isEmpty)
            devices.append(device)
        }
        let refused = try connect(fixture)
        #expect(
            refused.recorder.refusals.map(\.reason) == [
                "The quota of the app or its team has no room for another device."
            ])
        #expect(await measure(fixture, "postrider_quota_used", "devices") == 4)
        #expect(await measure(fixture, "postrider_quota_refusals_total", "devices") == 1)
        try await fixture.reload { $0.quotas = ["team=TEAM1 devices=5"].compactMap(Quota.init) }
        let welcome = try connect(fixture)
        #expect(welcome.recorder.refusals.isEmpty)
        #expect(await measure(fixture, "postrider_quota_used", "devices") == 5)
        for device in devices + [refused, welcome] { stop(device, fixture) }
        await fixture.stop()
    }

    @Test("limit what waits for devices of all shards together, also if it waited before")
    func pending() async throws {
        let fixture = try await RelayFixture(shards: 2)
        var tokens: [String] = []
        for _ in 0..<6 {
            let device = try connect(fixture)
            tokens.append(try #require(device.recorder.tokens[RelayFixture.topic]).hex)
            stop(device, fixture)
        }
        try await fixture.reload { $0.quotas = ["topic=* pending=6"].compactMap(Quota.init) }
        let provider = try fixture.makeProvider()
        func push(to token: String) throws -> PushOutcome {
            try fixture.push(
                Push(to: token, topic: Topic(RelayFixture.topic), payload: Array("{}".utf8)), provider)
        }
        for token in tokens { #expect(try push(to: token).status == 200) }
        for token in tokens {
            let outcome = try push(to: token)
            #expect(outcome.status == 429 && outcome.reason == "TooManyRequests")
        }
        #expect(await measure(fixture, "postrider_quota_used", "pending") == 6)
        #expect(await measure(fixture, "postrider_quota_limit", "pending") == 6)
        #expect(await measure(fixture, "postrider_quota_refusals_total", "pending") == 6)
        try await fixture.reload { $0.quotas = ["topic=* pending=7"].compactMap(Quota.init) }
        #expect(try push(to: tokens[0]).status == 200)
        #expect(try push(to: tokens[0]).status == 429)
        provider.close()
        await fixture.stop()
    }
}

import PostriderDeviceQueue
import PostriderNotifications
import RelayFixtures
import Testing

@testable import PostriderRelay

@Suite("A shard that is told of new settings")
struct ShardSettingsTests {
    private static func settings(_ change: (inout ShardSettings) -> Void) -> ShardSettings {
        var settings = ShardSettings()
        change(&settings)
        return settings
    }

    @Test("lets as many devices fetch as they say, from the next one on")
    func fetches() throws {
        let fixture = try DeviceFixture(throttle: ReconnectThrottle(places: 1))
        fixture.shard.home.throttle.began(now: 0)
        #expect(fixture.shard.home.throttle.slot(now: 0) != nil)
        fixture.shard.apply(Self.settings { $0.throttle = ReconnectThrottle(places: 2) })
        #expect(
            fixture.shard.home.throttle.slot(now: 0) == nil && fixture.shard.home.throttle.fetchCount == 1)
    }

    @Test("expires tokens as they say, but never within the hour after its start")
    func expiry() throws {
        let fixture = try DeviceFixture(rules: DeviceRules(expiryMilliseconds: nil, returnMilliseconds: 1000))
        fixture.shard.start()
        fixture.shard.apply(Self.settings { $0.deviceRules = DeviceRules(expiryMilliseconds: 5) })
        var rules = fixture.shard.home.rules
        #expect(rules.configured.expiryMilliseconds == 5 && rules.configured.returnMilliseconds == 1000)
        #expect(rules.present(fixture.clock).expiryMilliseconds == nil)
    }

    @Test("uses their code for HTTP/2, their compatibility and their time for idle providers")
    func others() throws {
        let fixture = try DeviceFixture()
        fixture.shard.apply(
            Self.settings {
                $0.protocolCode = .nghttp2
                $0.compatibility.rampsStreamLimit = true
                $0.compatibility.usesLiveSpellings = true
                $0.providerIdleMilliseconds = 7000
            })
        #expect(fixture.shard.devices.deviceLinks == .nghttp2)
        #expect(fixture.shard.providers.requestHeaders == .nghttp2)
        #expect(fixture.shard.providers.idleMilliseconds == 7000)
        #expect(fixture.shard.providers.compatibility.rampsStreamLimit)
        #expect(fixture.shard.providers.compatibility.usesLiveSpellings)
    }

    @Test("traces as many pushes as they say")
    func sample() {
        let recorder = TraceRecorder(ofShard: 0, sample: 1_000_000, losses: TraceLosses()) { _ in true }
        let rows = (1...100).map { QueueRow(Int64($0)) }
        #expect(rows.filter(recorder.traces).count < 100)
        recorder.change(sample: 1)
        #expect(rows.filter(recorder.traces).count == 100)
    }
}

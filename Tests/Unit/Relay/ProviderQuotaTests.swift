import PostriderNotifications
import RelayFixtures
import Testing

@testable import PostriderRelay

@Suite("A provider whose team or app has a quota")
struct ProviderQuotaTests {
    @Test("gets 429 with the seconds to wait when it pushes too fast, and goes on after these")
    func rate() throws {
        let fixture = try ProviderFixture(quotas: ["team=TEAM000001 pushes-per-second=1"])
        let streams = try (0..<12).map { _ in try fixture.push() }
        try fixture.run()
        #expect(streams.map { fixture.answers.status($0) } == Array(repeating: 200, count: 10) + [429, 429])
        let refused = try #require(fixture.answers.all[streams[10]])
        #expect(refused.fields["retry-after"] == "1" && refused.body == #"{"reason":"TooManyRequests"}"#)
        #expect(fixture.answers.all[streams[0]]?.fields["retry-after"] == nil)
        fixture.advance(byMilliseconds: 1000)
        let later = try fixture.push()
        try fixture.run()
        #expect(fixture.answers.status(later) == 200)
    }

    @Test("gets 413 for a payload above the quota, without a time to wait")
    func payload() throws {
        let fixture = try ProviderFixture(quotas: ["topic=\(Samples.topic.text) payload-bytes=1"])
        let stream = try fixture.push()
        try fixture.run()
        let refused = try #require(fixture.answers.all[stream])
        #expect(refused.status == 413 && refused.body == #"{"reason":"PayloadTooLarge"}"#)
        #expect(refused.fields["retry-after"] == nil)
    }

    /// Pushes with an `apns-id` of its own, so that nothing is taken for a push sent again.
    private func pushKept(_ fixture: ProviderFixture, _ number: Int) throws -> Int32 {
        try fixture.push(["apns-id": "00000000-0000-4000-8000-00000000000\(number)"], isKept: true)
    }

    @Test("gets 429 while as many notifications wait as the quota allows, until a reload allows more")
    func pending() throws {
        let fixture = try ProviderFixture(quotas: ["team=* pending=2"])
        let streams = try (0..<3).map { try pushKept(fixture, $0) }
        try fixture.run()
        fixture.commit()
        try fixture.run()
        #expect(streams.map(fixture.answers.status) == [200, 200, 429])
        #expect(fixture.answers.all[streams[2]]?.fields["retry-after"] == nil)
        #expect(fixture.meters.map(\.pending) == [2] && fixture.meters.map { $0.refusals(.pending) } == [1])
        fixture.reload(quotas: ["team=* pending=3"])
        let more = try (3..<5).map { try pushKept(fixture, $0) }
        try fixture.run()
        fixture.commit()
        try fixture.run()
        #expect(more.map(fixture.answers.status) == [200, 429])
        #expect(fixture.meters.map(\.pending) == [3] && fixture.meters.map { $0.refusals(.pending) } == [2])
        fixture.reload(quotas: [])
        #expect(fixture.meters.isEmpty)
        fixture.reload(quotas: ["topic=* pending=4"])
        #expect(fixture.meters.map(\.pending) == [3])
    }

    @Test("is not limited by the quota of another team")
    func others() throws {
        let fixture = try ProviderFixture(quotas: ["team=TEAM000002 pushes-per-second=1 payload-bytes=1"])
        let streams = try (0..<30).map { _ in try fixture.push() }
        try fixture.run()
        #expect(streams.allSatisfy { fixture.answers.status($0) == 200 })
    }
}

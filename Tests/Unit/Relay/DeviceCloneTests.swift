import PostriderCourier
import PostriderNotifications
import RelayFixtures
import Synchronization
import Testing

@testable import PostriderRelay

@Suite("A relay that two machines with one identity connect to")
struct DeviceCloneTests {
    @Test("turns the one away that comes back, and shows both to the operator", .bug(id: "A9"))
    func clones() throws {
        let fixture = try DeviceFixture()
        let one = try fixture.connect(instance: 1)
        let other = try fixture.connect(instance: 2)
        #expect(one.goodbye?.reason == .replaced && other.goodbye == nil)
        let again = try fixture.connect(instance: 1)
        #expect(again.goodbye?.reason == .duplicated && again.status == .aborted)
        #expect(again.goodbye?.retryAfterMilliseconds == Limits.duplicateRetryMilliseconds)
        #expect(other.goodbye == nil)
        let entry = try #require(fixture.shard.home.entries[DeviceFixture.identity(0)])
        #expect(entry.session === other.session && entry.duplicate != nil)
    }

    @Test("lets the other in when the one is gone", .bug(id: "A9"))
    func takeover() throws {
        let fixture = try DeviceFixture()
        _ = try fixture.connect(instance: 1)
        let other = try fixture.connect(instance: 2)
        fixture.shard.devices.left(other.session)
        let again = try fixture.connect(instance: 1)
        #expect(again.goodbye == nil)
    }

    private final class Lines: Sendable {
        let all = Mutex<[String]>([])
    }

    @Test("tells the log of both addresses, and what to do", .bug(id: "A9"))
    func line() {
        let lines = Lines()
        let entry = DeviceEntry(
            DeviceRecord(
                identity: Samples.device, secretDigest: [], name: "kiosk", enrolledAt: Samples.now))
        let log = Log { level, line in if level == .warning { lines.all.withLock { $0.append(line) } } }
        let (one, other) = (
            CloneWatch.Party(instance: 1, address: "10.0.0.1"),
            CloneWatch.Party(instance: 2, address: "10.0.0.2")
        )
        _ = entry.judge(other, beside: one, at: Samples.now, log: log)
        _ = entry.judge(one, beside: other, at: Samples.now, log: log)
        #expect(
            lines.all.withLock { $0 } == [
                "two machines use the identity of device \(Samples.device) (kiosk): one at 10.0.0.2, one at "
                    + "10.0.0.1; give each a state directory of its own, or set on-clone: enrol-anew at "
                    + "their agents"
            ])
    }
}

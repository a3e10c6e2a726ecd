import PostriderNotifications
import Testing

@testable import PostriderDeviceQueue

extension Device {
    /// Whether each app has at most one stored notification that is not in delivery.
    var keepsLatestOnly: Bool {
        let waiting = backlog.queue.rows { $0.delivery == nil && $0.expiresAt != nil }
        let registrations = waiting.compactMap { backlog.queue[$0]?.registration }
        return Set(registrations).count == registrations.count
    }
}

@Suite("A device under a seed")
struct DeviceWorldTests {
    @Test(
        "answers every push once, keeps its promises, its order and its balance",
        arguments: 1...200 as ClosedRange<UInt64>)
    func world(_ seed: UInt64) {
        var world = DeviceWorld(seed: seed)
        for _ in 0..<600 { world.step() }
        world.finish()
        world.check()
    }
}

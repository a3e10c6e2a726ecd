import PostriderEndpoints
import PostriderHTTP2
import PostriderNotifications

@testable import PostriderChannels
@testable import PostriderDeviceQueue
@testable import PostriderRelay

/// The conditions for a shard at the end of each of its turns.
extension SimulatedRelay {
    /// The limits on stored notifications and deliveries under way.
    struct Bounds {
        var pendingPerApp = Limits.pendingPerRegistration
        var deliveries = Limits.deliveryWindow
        var messages = Limits.mailboxMessages
        /// The milliseconds after which a device that was asked to wait may come back.
        var slotMilliseconds = Limits.slotMilliseconds
        /// Bytes in a device's stream: a window of the largest notifications, the broadcasts, and the link's own
        /// messages.
        var outboundBytes =
            Limits.deliveryWindow * (Limits.payloadBytes + 1024) + Limits.broadcastBacklogBytes
            + Limits.relayMessageBytes
    }

    var bounds: Bounds {
        house.fault == .boundsShrink
            ? Bounds(
                pendingPerApp: 12, deliveries: 12, messages: 12, slotMilliseconds: (12, 12), outboundBytes: 12
            )
            : Bounds()
    }

    /// Checks the counters after each turn, and the devices from time to time.
    func inspect(_ shard: Shard, thoroughly: Bool) {
        let findings = house.findings
        if house.fault == .shardMiscounts, findings.events > 5_000 { shard.home.tally.delivered += 1 }
        findings.expect(
            shard.home.tally.isBalanced, .conservation, "the counters of shard \(shard.index) do not balance")
        guard thoroughly else { return }
        if house.fault == .channelsForget { shard.devices.subscriptions.subscribers = Subscribers() }
        let pending = shard.home.entries.values.reduce(0) { $0 + $1.pendingCount }
        findings.expect(
            shard.home.tally.pending == UInt64(pending), .conservation,
            "shard \(shard.index) counts \(shard.home.tally.pending) pending, its devices \(pending)")
        inspectQuotas()
        for entry in shard.home.entries.values { inspect(entry.device) }
        for session in shard.devices.sessions.values {
            let waiting = session.carrier.outboundBytes
            findings.expect(
                waiting <= bounds.outboundBytes, .bounds, "\(waiting) bytes wait in a device's stream")
        }
    }

    /// Checks that the quotas count what waits on all shards, and each valid registration.
    private func inspectQuotas() {
        let counted = quotas.all.reduce(into: (0, 0)) { $0 = ($0.0 + $1.pending, $0.1 + $1.devices) }
        var found = (0, 0)
        for entry in shards.lazy.flatMap(\.home.entries.values) {
            found.0 += entry.pendingCount
            found.1 += entry.device.registrations.count { $0.value.unregisteredAt == nil }
        }
        house.findings.expect(
            counted == found, .conservation,
            "the quotas count \(counted) pending notifications and registrations, the devices have \(found)")
    }

    private func inspect(_ device: Device) {
        let findings = house.findings
        let underway = device.link?.rows.count ?? 0
        findings.expect(underway <= bounds.deliveries, .bounds, "\(underway) deliveries are under way")
        for registration in device.registrations.values {
            findings.expect(
                registration.pending <= bounds.pendingPerApp, .bounds,
                "\(registration.pending) notifications wait for one app")
        }
        findings.expect(
            device.backlog.queue.count <= bounds.pendingPerApp * device.registrations.count, .bounds,
            "\(device.backlog.queue.count) notifications wait for one device")
        guard storage == .latest else { return }
        let waiting = device.backlog.queue.rows { $0.delivery == nil && $0.expiresAt != nil }
        let apps = Set(waiting.compactMap { device.backlog.queue[$0]?.registration })
        findings.expect(
            apps.count == waiting.count, .newest, "\(waiting.count) wait for \(apps.count) apps")
    }
}

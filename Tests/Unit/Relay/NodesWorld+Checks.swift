import PostriderCluster
import PostriderDeviceQueue
import PostriderNotifications
import PostriderStorage

@testable import PostriderRelay

extension NodesWorld {
    /// What is checked.
    enum Checker {
        /// A partition that a node serves is its own in the database, and so no two nodes serve one.
        case ownership
        /// No node lets a device in, or sends it anything, whose home is another node by then; and no link of a device
        /// outlives its home.
        case homes
        /// What was answered 200 reaches its device, unless a newer push has replaced it.
        case delivery
        /// Of two pushes for one device, the second of which was posted after the answer to the first or over the same
        /// connection, the first one arrives first.
        case order
        /// The counters of each node balance and agree with its queues. Without faults those of the cluster say what
        /// became of each push.
        case balance
        /// A node draws rows above those of the devices that it has taken over.
        case rows
        /// Pushes get 200, 429 or 503.
        case answers
        /// Channels exist from the answer to their creation until their deletion was ordered, and not after its answer.
        case channels
        /// Of two broadcasts of a channel, the second of which was posted after the answer to the first, the first one
        /// arrives first, or not at all. Subscribers have what a channel stores after their next connection. No
        /// subscription gets lost.
        case broadcasts
        /// Each message of Web Push that was promised a receipt gets one. It says that the device has the message if
        /// that is so.
        case receipts
        /// Nodes keep to the protocol of devices, and tell none that it has made a mistake or is unknown.
        case conduct
        /// Pushes and orders get 200 while nothing fails, although nodes are drained and started again.
        case calm
        /// Without further faults all nodes serve the same number of partitions, all devices are connected and known to
        /// their homes, and nothing waits, nor is left in the database.
        case rest
    }

    struct Finding: CustomStringConvertible {
        let checker: Checker
        let description: String
    }

    // MARK: At any time

    func check(_ nodes: [FixtureNode]) {
        if let flaw = fixture.flaw { report(flaw.checker, flaw.description) }
        for node in nodes where node.isAwake {
            checkOwnership(node)
            checkCounters(node)
        }
    }

    private func checkOwnership(_ node: FixtureNode) {
        let placement = fixture.database.placement
        for partition in placement.partitions where placement.owner(of: partition) != node.name {
            guard node.serves(DeviceIdentity(high: 1, low: UInt32(partition.number))) else { continue }
            let owner = placement.owner(of: partition)?.text ?? "nobody"
            report(.ownership, "\(node.name) serves \(partition) of \(owner)")
        }
        // A node whose lease is not over has given up by itself what others have.
        guard node.serving.includes(fixture.clock.now) else { return }
        for device in devices where fixture.owner(of: device.identity) != node.name {
            guard node.entry(of: device.identity)?.session != nil else { continue }
            report(.homes, "a link of device \(device.identity) has outlived its home at \(node.name)")
        }
    }

    private func checkCounters(_ node: FixtureNode) {
        let tally = node.tally
        if !tally.isBalanced { report(.balance, "\(node.name): \(tally)") }
        let waiting = node.shards.reduce(0) { sum, shard in
            shard.home.entries.values.reduce(sum) { $0 + $1.pendingCount }
        }
        if tally.pending != UInt64(waiting) {
            report(.balance, "\(node.name): \(waiting) in queues, and \(tally)")
        }
    }

    // MARK: At the end

    /// Compares what devices got with what was answered.
    func checkArrivals() {
        for (index, device) in devices.enumerated() {
            let own = pushes.filter { $0.device == index && $0.acceptedAt != nil }
            for push in own where push.isKept && !device.has(push.identity) {
                // Nobody knows which of two came first that were under way at the same time.
                guard
                    !own.contains(where: {
                        push.collapses(with: $0) && !$0.precedes(push) && device.has($0.identity)
                    })
                else { continue }
                report(.delivery, "push \(push.number) was answered 200 and has not arrived")
            }
            checkOrder(of: own, at: device)
        }
    }

    private func checkOrder(of own: [NodesWorldPush], at device: NodesWorldDevice) {
        var places: [NotificationIdentity: Int] = [:]
        for (place, identity) in device.arrived.enumerated() { places[identity] = place }
        for first in own {
            for second in own where first.precedes(second) || first.leads(second) {
                // If a node is killed, one that was replaced may come back after the one that has replaced it, which
                // the device has acknowledged at once: it may not be removed from the database yet.
                if !isCalm, first.collapses(with: second) { continue }
                let two = [first, second].compactMap { places[$0.identity] }
                if two.count == 2, two[0] > two[1] {
                    report(.order, "push \(second.number) has arrived before \(first.number)")
                }
            }
        }
    }

    /// If nothing has failed, each push was accepted once, and the counters of all nodes say what has become of it.
    func checkConservation() {
        let sum = processes.reduce(into: Tally()) { $0 += $1.tally }
        if sum.accepted != sum.moved + UInt64(pushes.count) || sum.pending != 0 {
            report(.balance, "\(pushes.count) pushes, and all nodes together: \(sum)")
        }
    }

    // MARK: Rest

    var isAtRest: Bool {
        nodes.allSatisfy { $0.servedCount == Self.partitions / 3 && $0.tally.pending == 0 }
            && pushes.allSatisfy { $0.acceptedAt != nil } && devices.allSatisfy(isAtHome) && storedCount == 0
            && channels.orders.isEmpty && areSubscribed
    }

    /// Whether a device is connected, and its home knows that.
    private func isAtHome(_ device: NodesWorldDevice) -> Bool {
        device.link?.isOpen == true
            && nodes.contains { $0.entry(of: device.identity)?.session != nil && $0.serves(device.identity) }
    }

    /// The number of notifications in the database.
    private var storedCount: Int {
        var count = 0
        _ = try? MemoryStore(disk: fixture.database.disk).scanQueue { _ in count += 1 }
        return count
    }

    /// What is not at rest.
    var restlessness: String {
        let some = nodes.map { "\($0.name) serves \($0.servedCount) with \($0.tally)" }
        let open = pushes.filter { $0.acceptedAt == nil }.map(\.number)
        let away = devices.filter { !isAtHome($0) }
            .map { "\($0.identity) at \($0.link?.node.name.text ?? "no node")" }
        let orders = channels.orders.map { "\($0.wish)" }
        return "\(some.joined(separator: "; ")); without 200: \(open); \(storedCount) in the database; "
            + "away: \(away.joined(separator: ", ")); without answer: \(orders); "
            + "all subscribed: \(areSubscribed)"
    }
}

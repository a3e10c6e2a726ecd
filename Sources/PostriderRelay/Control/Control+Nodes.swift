import PostriderNotifications

extension Control.Status {
    /// The status of a cluster, as the sum of its nodes' by their names.
    init(ofNodes parts: [(name: String, status: Control.Status)], missing: [String]) {
        var sum = Control.Status([])
        for part in parts { sum.add(part.status) }
        self = sum
        nodes =
            (parts.map { Node(name: $0.name, status: $0.status) }
            + missing.map { Node(name: $0, status: nil) }).sorted { $0.name < $1.name }
    }

    private mutating func add(_ other: Control.Status) {
        shards += other.shards
        providerConnections += other.providerConnections
        deviceConnections += other.deviceConnections
        devices += other.devices
        channels += other.channels
        subscriptions += other.subscriptions
        broadcasts.accepted += other.broadcasts.accepted
        broadcasts.sent += other.broadcasts.sent
        broadcasts.dropped += other.broadcasts.dropped
        deferredDevices += other.deferredDevices
        refusedConnections += other.refusedConnections
        counters.add(other.counters)
        countersOfShards += other.countersOfShards
        if let part = other.trace {
            trace = Trace(
                lost: (trace?.lost ?? 0) + part.lost,
                untoldRefusals: (trace?.untoldRefusals ?? 0) + part.untoldRefusals)
        }
    }
}

extension Control.Status.Counters {
    fileprivate mutating func add(_ other: Control.Status.Counters) {
        accepted += other.accepted
        delivered += other.delivered
        pending += other.pending
        expired += other.expired
        replaced += other.replaced
        discarded += other.discarded
        if let more = other.moved { moved = (moved ?? 0) + more }
        dropped.merge(other.dropped, uniquingKeysWith: +)
        isBalanced = isBalanced && other.isBalanced
    }
}

public import PostriderCluster
public import PostriderNotifications

extension RegistryChange {
    /// What of a cluster a change is about.
    public enum Scope: Equatable {
        /// A device: the node that has its partition alone may make the change.
        case device(DeviceIdentity)
        /// An app's channels, which only the node that has their partition changes and reads.
        case channels
        /// What every node has.
        case shared
        /// The run of one relay.
        case run
    }

    /// What of a cluster this change is about.
    public var scope: Scope {
        switch self {
        case .putDevice(let record): .device(record.identity)
        case .noteSeen(let identity, _), .removeDevice(let identity): .device(identity)
        case .putPresence(let record): .device(record.device)
        case .putLabel(let label): .device(label.device)
        case .putRegistration(let record): .device(record.device)
        case .putWebSubscription(let subscription): .device(subscription.device)
        case .putChannel, .removeChannel, .putBroadcast, .removeBroadcast: .channels
        case .addTokenSecret, .putProviderKey, .removeProviderKey, .putTopic, .removeTopic,
            .putEnrolmentKey, .removeEnrolmentKey, .useEnrolmentKey, .putSendToken, .removeSendToken:
            .shared
        case .noteRun: .run
        }
    }

    /// The device whose partition's owner alone may make this change; nil if it is about none.
    public var device: DeviceIdentity? { if case .device(let device) = scope { device } else { nil } }
}

extension Registry {
    /// What every node of a cluster has.
    var shared: Registry {
        var shared = self
        (shared.devices, shared.registrations, shared.webSubscriptions) = ([], [], [])
        (shared.presences, shared.labels, shared.lastRun) = ([], [], nil)
        (shared.channels, shared.broadcasts) = ([], [])
        return shared
    }

    /// The devices and channels of partitions, with all that belongs to them.
    func part(of partitions: Set<Partition>) -> Registry {
        func isIn(_ device: DeviceIdentity) -> Bool { partitions.contains(Partition(of: device)) }
        var own = Registry()
        own.devices = devices.filter { isIn($0.identity) }
        own.registrations = registrations.filter { isIn($0.device) }
        own.webSubscriptions = webSubscriptions.filter { isIn($0.device) }
        own.presences = presences.filter { isIn($0.device) }
        own.labels = labels.filter { isIn($0.device) }
        (own.channels, own.broadcasts) = (channels, broadcasts)
        own.keepChannels(of: partitions)
        return own
    }

    /// Leaves out the channels of all other partitions, and their broadcasts.
    public mutating func keepChannels(of partitions: Set<Partition>) {
        channels.removeAll { !partitions.contains(Partition(of: $0.owner)) }
        let kept = Set(channels.map(\.identity))
        broadcasts.removeAll { !kept.contains($0.channel) }
    }
}

extension StoreError {
    /// The error for a change about a device of a partition that a node does not have.
    public static func misplaced(_ partition: Partition, node: NodeName) -> StoreError {
        StoreError(
            .misplaced, "The node '\(node)' does not have partition \(partition), so it stores nothing of it."
        )
    }
}

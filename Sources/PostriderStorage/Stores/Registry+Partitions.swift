public import PostriderCluster
public import PostriderNotifications

extension RegistryChange {
    /// The device whose partition's owner alone may make this change; nil if it is about none.
    public var device: DeviceIdentity? {
        switch self {
        case .putDevice(let record): record.identity
        case .noteSeen(let identity, _), .removeDevice(let identity): identity
        case .putPresence(let record): record.device
        case .putLabel(let label): label.device
        case .putRegistration(let record): record.device
        case .putWebSubscription(let subscription): subscription.device
        case .addTokenSecret, .noteRun, .putProviderKey, .removeProviderKey, .putTopic, .removeTopic,
            .putEnrolmentKey, .removeEnrolmentKey, .countEnrolments, .putSendToken, .removeSendToken,
            .putChannel, .removeChannel,
            .putBroadcast, .removeBroadcast:
            nil
        }
    }

    /// Whether every node of a cluster has what this changes.
    public var isShared: Bool {
        if case .noteRun = self { return false }
        return device == nil
    }
}

extension Registry {
    /// What every node of a cluster has.
    var shared: Registry {
        var shared = self
        (shared.devices, shared.registrations, shared.webSubscriptions) = ([], [], [])
        (shared.presences, shared.labels, shared.lastRun) = ([], [], nil)
        return shared
    }

    /// The devices of partitions, with all that belongs to them.
    func devices(in partitions: Set<Partition>) -> Registry {
        func isIn(_ device: DeviceIdentity) -> Bool { partitions.contains(Partition(of: device)) }
        var own = Registry()
        own.devices = devices.filter { isIn($0.identity) }
        own.registrations = registrations.filter { isIn($0.device) }
        own.webSubscriptions = webSubscriptions.filter { isIn($0.device) }
        own.presences = presences.filter { isIn($0.device) }
        own.labels = labels.filter { isIn($0.device) }
        return own
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

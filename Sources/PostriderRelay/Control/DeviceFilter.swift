import PostriderNotifications

/// A selection of a shard's devices.
struct DeviceFilter: Sendable, Equatable {
    /// True for connected devices only, false for absent ones only, nil for both.
    var isConnected: Bool?
    /// Only devices that have been away for at least this many seconds.
    var awaySeconds: Int64?
    /// Only these devices; nil for all.
    var only: Set<DeviceIdentity>?
    /// Only devices with a valid registration of this app, without their other registrations; nil for all.
    var topic: Topic?

    /// Whether a device with this presence is selected.
    func wants(_ presence: DevicePresence, now: Moment) -> Bool {
        if let isConnected, presence.isConnected != isConnected { return false }
        guard let awaySeconds else { return true }
        return !presence.isConnected
            && now.milliseconds - presence.since.milliseconds >= awaySeconds * 1000
    }
}

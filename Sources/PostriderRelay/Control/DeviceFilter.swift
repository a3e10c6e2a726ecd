import PostriderNotifications

/// Which of its devices a shard is to tell of.
struct DeviceFilter: Sendable, Equatable {
    /// Whether connected ones are asked for, or those that are away; nil: both.
    var isConnected: Bool?
    /// Only those that have been away for so many seconds.
    var awaySeconds: Int64?
    /// Only these; nil: all.
    var only: Set<DeviceIdentity>?
    /// Only those that have a good registration of this app, and no other registrations of theirs; nil: all.
    var topic: Topic?

    /// Whether a device is asked for, as far as its presence says so.
    func wants(_ presence: DevicePresence, now: Moment) -> Bool {
        if let isConnected, presence.isConnected != isConnected { return false }
        guard let awaySeconds else { return true }
        return !presence.isConnected
            && now.milliseconds - presence.since.milliseconds >= awaySeconds * 1000
    }
}

import PostriderNotifications

/// The rules that are the same for every device of a relay: compatibility with Apple, and limits.
struct DeviceRules: Sendable {
    /// How many notifications may wait for an absent device.
    var storage = APNsCompatibility.StorageDepth.queue
    /// Pushes a second that one device token takes on average; nil for no limit.
    var pushesPerSecond: Int? = Limits.pushesPerSecond
    /// Milliseconds without a connection after which a device's tokens expire; nil if they never do.
    var expiryMilliseconds: Int64?
    /// Milliseconds after the relay's start in which no token expires, so that devices have time to reconnect.
    var returnMilliseconds = Limits.clockMilliseconds
}

extension DeviceRules {
    /// The rules of a configuration.
    init(_ configuration: RelayConfiguration) {
        storage = configuration.fidelity.storage
        pushesPerSecond = configuration.pushesPerSecond
        // A device is recorded as seen once a day, so it may have been connected up to a day later.
        expiryMilliseconds = configuration.deviceExpiryDays.map {
            Int64($0) * 24 * 60 * 60 * 1000 + Limits.sightingMilliseconds
        }
        returnMilliseconds = configuration.returnMilliseconds
    }
}

/// How many more pushes one device token takes: a token bucket, stored as the moment at which it is full again.
struct PushAllowance {
    private var fullAtMicroseconds: Int64 = 0

    /// Takes one push out of the bucket. Returns false if it is empty.
    mutating func take(now: Moment, perSecond: Int) -> Bool {
        precondition((1...1_000_000).contains(perSecond), "a push takes a microsecond at least")
        let interval = 1_000_000 / Int64(perSecond)
        let depth = interval * Int64(perSecond) * Int64(Limits.pushBurstSeconds)
        let now = now.milliseconds * 1000
        // The bucket cannot be more than empty: the clock was put back, so the stored moment is worthless.
        if fullAtMicroseconds > now + depth { fullAtMicroseconds = now }
        fullAtMicroseconds = max(fullAtMicroseconds, now)
        guard fullAtMicroseconds + interval <= now + depth else { return false }
        fullAtMicroseconds += interval
        return true
    }
}

extension Notification {
    /// The slot that a notification takes. If only the latest of each app waits, all storable notifications of an app
    /// share one.
    func slot(_ storage: APNsCompatibility.StorageDepth) -> Slot {
        storage == .latest && expiration != .nowOrNever ? .latest(registration) : slot
    }
}

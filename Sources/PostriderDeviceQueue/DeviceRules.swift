package import PostriderNotifications

/// The rules that are the same for every device of a relay: compatibility with Apple, and limits.
package struct DeviceRules: Sendable {
    /// How many notifications may wait for an absent device.
    package var storage: APNsCompatibility.StorageDepth
    /// Pushes a second that one device token takes on average; nil for no limit.
    package var pushesPerSecond: Int?
    /// Milliseconds without a connection after which a device's tokens expire; nil if they never do.
    package var expiryMilliseconds: Int64?
    /// Milliseconds after the relay's start in which no token expires, so that devices have time to reconnect.
    package var returnMilliseconds: Int64

    /// Rules from their parts; those of a relay without settings if nothing is given.
    package init(
        storage: APNsCompatibility.StorageDepth = .queue, pushesPerSecond: Int? = Limits.pushesPerSecond,
        expiryMilliseconds: Int64? = nil, returnMilliseconds: Int64 = Limits.clockMilliseconds
    ) {
        (self.storage, self.pushesPerSecond) = (storage, pushesPerSecond)
        (self.expiryMilliseconds, self.returnMilliseconds) = (expiryMilliseconds, returnMilliseconds)
    }
}

/// How many more pushes one device token takes: a token bucket, stored as the moment at which it is full again.
package struct PushAllowance {
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

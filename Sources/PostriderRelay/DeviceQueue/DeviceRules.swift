import PostriderNotifications

/// What holds for every device of a relay: how it keeps to Apple, and how much a device is sent.
struct DeviceRules: Sendable {
    /// How many notifications wait for an absent device.
    var storage = APNsCompatibility.StorageDepth.queue
    /// Pushes that one device token takes a second in the long run; nil: as many as come.
    var pushesPerSecond: Int? = Limits.pushesPerSecond
    /// Milliseconds after which the tokens of a device that was not seen are expired; nil: they never are.
    var expiryMilliseconds: Int64?
    /// Milliseconds that a device has to return to a relay that was started, before they are.
    var returnMilliseconds = Limits.clockMilliseconds
}

extension DeviceRules {
    /// The rules that a configuration sets.
    init(_ configuration: RelayConfiguration) {
        storage = configuration.fidelity.storage
        pushesPerSecond = configuration.pushesPerSecond
        // A device is noted as seen once a day, so it may have been there a day after that.
        expiryMilliseconds = configuration.deviceExpiryDays.map {
            Int64($0) * 24 * 60 * 60 * 1000 + Limits.sightingMilliseconds
        }
        returnMilliseconds = configuration.returnMilliseconds
    }
}

/// How many more pushes one device token takes: a bucket that pushes empty and time fills. It is one number, the
/// moment at which it is full again.
struct PushAllowance {
    private var fullAtMicroseconds: Int64 = 0

    /// Takes one push out, if there is one in it.
    mutating func take(now: Moment, perSecond: Int) -> Bool {
        precondition((1...1_000_000).contains(perSecond), "a push takes a microsecond at least")
        let interval = 1_000_000 / Int64(perSecond)
        let depth = interval * Int64(perSecond) * Int64(Limits.pushBurstSeconds)
        let now = now.milliseconds * 1000
        // No bucket is emptier than empty: the clock was put back, and what it knows is worth nothing.
        if fullAtMicroseconds > now + depth { fullAtMicroseconds = now }
        fullAtMicroseconds = max(fullAtMicroseconds, now)
        guard fullAtMicroseconds + interval <= now + depth else { return false }
        fullAtMicroseconds += interval
        return true
    }
}

extension Notification {
    /// The place that it takes among those that wait for a device. Where only the latest of each app waits, all that
    /// can wait share one.
    func slot(_ storage: APNsCompatibility.StorageDepth) -> Slot {
        storage == .latest && expiration != .nowOrNever ? .latest(registration) : slot
    }
}

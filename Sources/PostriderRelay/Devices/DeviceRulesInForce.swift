import PostriderDeviceQueue
import PostriderNotifications
import PostriderTransport

/// The rules for devices, and whether the clock can be trusted enough for those that depend on it.
struct DeviceRulesInForce {
    /// The rules of the configuration.
    private(set) var configured: DeviceRules
    private var clock: ClockWatch
    /// Whether the clock was in doubt when it was last checked; that was logged.
    private(set) var hasDoubted = false
    /// Until this moment of the monotonic clock, in nanoseconds, devices may not have reconnected since the start.
    private var returnsUntil: UInt64 = 0

    init(_ configured: DeviceRules, _ scheduler: any Scheduler) {
        self.configured = configured
        clock = ClockWatch(scheduler)
    }

    /// Replaces the rules of the configuration, except for the time in which devices return after a start.
    mutating func change(_ rules: DeviceRules) {
        let returnMilliseconds = configured.returnMilliseconds
        configured = rules
        configured.returnMilliseconds = returnMilliseconds
    }

    /// The relay has started.
    mutating func start(_ scheduler: any Scheduler) {
        returnsUntil = scheduler.now + UInt64(configured.returnMilliseconds) * 1_000_000
    }

    /// The rules that are in force now. A provider that is told that a token has expired forgets it, so no token may
    /// expire only because the relay was down or its clock was set.
    mutating func present(_ scheduler: any Scheduler) -> DeviceRules {
        var rules = configured
        if rules.expiryMilliseconds != nil, scheduler.now < returnsUntil || clock.doubts(scheduler) {
            rules.expiryMilliseconds = nil
        }
        return rules
    }

    /// Whether the clock may be wrong. While it may, expired notifications are neither sent nor removed. Logs the doubt
    /// once.
    mutating func doubtsClock(_ context: ShardContext) -> Bool {
        let doubts = clock.doubts(context.scheduler)
        if doubts, !hasDoubted, context.index == 0 {
            context.log.warning(
                "the clock was put forward by more than an hour: notifications that have expired by it "
                    + "are dropped in an hour, unless the clock is put back before that")
        }
        hasDoubted = doubts
        return doubts
    }
}

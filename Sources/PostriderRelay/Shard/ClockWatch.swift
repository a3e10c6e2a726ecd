import PostriderNotifications
import PostriderTransport

/// Decides whether the wall clock may be wrong, so that irreversible consequences of it (expiration) are put off. It
/// may be within an hour after it was put forward by more than an hour, unless it is put back.
///
/// The monotonic clock, with which it is compared, cannot be set.
struct ClockWatch {
    /// By how many milliseconds the wall clock was ahead of the monotonic one at the last check.
    private var lead: Int64
    /// The end of the doubt, in nanoseconds of the monotonic clock; 0 if there is none.
    private var doubtsUntil: UInt64 = 0

    init(_ scheduler: any Scheduler) { lead = Self.lead(scheduler) }

    /// Checks the clock, and returns whether it may be wrong.
    mutating func doubts(_ scheduler: any Scheduler) -> Bool {
        let before = lead
        lead = Self.lead(scheduler)
        if lead - before > Limits.clockMilliseconds {
            doubtsUntil = scheduler.now + UInt64(Limits.clockMilliseconds) * 1_000_000
        } else if before - lead > Limits.clockMilliseconds {
            doubtsUntil = 0
        }
        return scheduler.now < doubtsUntil
    }

    private static func lead(_ scheduler: any Scheduler) -> Int64 {
        scheduler.wallMilliseconds - Int64(scheduler.now / 1_000_000)
    }
}

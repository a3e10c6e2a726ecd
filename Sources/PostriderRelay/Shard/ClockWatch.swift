import PostriderNotifications
import PostriderTransport

/// Whether the wall clock may be a mistake, so that what it asks for and nobody can undo is better put off: within an
/// hour after it was put forward by more than an hour, unless it is put back.
///
/// The monotonic clock beside it goes on whatever is set.
struct ClockWatch {
    /// How many milliseconds the wall clock was ahead of the monotonic one when it was looked at last.
    private var lead: Int64
    /// By the monotonic clock, in nanoseconds.
    private var doubtsUntil: UInt64 = 0

    init(_ scheduler: any Scheduler) { lead = Self.lead(scheduler) }

    /// Looks at the clock, and says whether it may be a mistake.
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

internal import CPostriderLinux
internal import Glibc

/// How long a loop polls before it sleeps.
struct BusyPolling {
    /// How long it polls after a turn that had something to do; 0 means not at all.
    var microseconds = 0
    /// When polling ends, in monotonic nanoseconds.
    private(set) var ends: UInt64 = 0

    /// A turn that has something to do begins.
    mutating func begin(at now: UInt64) { ends = now + UInt64(microseconds) * 1000 }
}

/// What a loop does between two turns: it waits for events, and then reads the clocks.
extension EventLoop {
    /// Waits until something has happened, and returns the number of epoll events.
    func awaitReports() -> Int {
        var milliseconds = waitMilliseconds
        while milliseconds != 0 {
            let time = Self.read(CLOCK_MONOTONIC)
            guard time < polling.ends else { break }
            let count = watches.poller.wait(milliseconds: 0)
            if count > 0 { return count }
            // Yields while there is nothing to do, so that other threads need not take the processor when there is.
            sched_yield()
            // Timers are compared with the present time, not with the time at which this turn began.
            timers.catchUp(with: time)
            milliseconds = waitMilliseconds
        }
        return watches.poller.wait(milliseconds: milliseconds)
    }

    func readClocks() {
        now = Self.read(CLOCK_MONOTONIC)
        wallMilliseconds = Int64(Self.read(CLOCK_REALTIME) / 1_000_000)
    }

    /// Reads the clocks, so that a deadline which is set long before the loop's first turn counts from now.
    func readClocksOutsideOfTurn() {
        guard !isInTurn else { return }
        readClocks()
        timers.catchUp(with: now)
    }

    private var waitMilliseconds: Int32 {
        guard !isStopping, work.isEmpty, deferred.isEmpty else { return 0 }
        return timers.nextMilliseconds.map { Int32(clamping: $0) } ?? -1
    }

    /// What a clock shows, in nanoseconds: `CLOCK_MONOTONIC`, `CLOCK_REALTIME`, `CLOCK_BOOTTIME`.
    package static func read(_ clock: Int32) -> UInt64 {
        var time = timespec()
        unsafe clock_gettime(clock, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
}

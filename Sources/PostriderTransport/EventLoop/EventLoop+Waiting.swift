internal import CPostriderLinux
internal import Glibc

/// What a loop does between two turns: it waits, and looks at the clocks when it has waited.
extension EventLoop {
    /// Waits until something has happened, and answers how many reports there are.
    func awaitReports() -> Int {
        var milliseconds = waitMilliseconds
        while milliseconds != 0 {
            let time = Self.read(CLOCK_MONOTONIC)
            guard time < pollingEnds else { break }
            let count = poller.wait(milliseconds: 0)
            if count > 0 { return count }
            // Whoever else waits for this processor has it now, and not when there is something to do.
            sched_yield()
            // A timer is due as the clock says, not as it said when this turn began.
            timers.catchUp(with: time)
            milliseconds = waitMilliseconds
        }
        return poller.wait(milliseconds: milliseconds)
    }

    func readClocks() {
        now = Self.read(CLOCK_MONOTONIC)
        wallMilliseconds = Int64(Self.read(CLOCK_REALTIME) / 1_000_000)
    }

    /// A loop that was made long before its first turn counts a deadline from the moment at which it is set.
    func readClocksOutsideOfTurn() {
        guard !isInTurn else { return }
        readClocks()
        timers.catchUp(with: now)
    }

    private var waitMilliseconds: Int32 {
        guard !isStopping, unread.isEmpty, dirty.isEmpty, departed.isEmpty, interestChanged.isEmpty,
            deferred.isEmpty
        else { return 0 }
        return timers.nextMilliseconds.map { Int32(clamping: $0) } ?? -1
    }

    static func read(_ clock: Int32) -> UInt64 {
        var time = timespec()
        unsafe clock_gettime(clock, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
}

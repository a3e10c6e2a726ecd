internal import Glibc

/// FIFO of connections whose readiness events are deferred to the end of the turn, and how many of them a turn handles.
final class DeferredQueue {
    /// The most time that one run of the queue may take, in nanoseconds.
    private static let longestRun: UInt64 = 10_000_000
    /// If a turn is shorter than this, it did less for other connections than one step of a handshake takes.
    /// Nanoseconds.
    private static let shortTurn: UInt64 = 100_000

    private var tokens: [WatchTable.Token] = []
    private var first = 0
    /// When the queue was last run, in monotonic nanoseconds.
    private var runEnded: UInt64 = 0
    /// The same moment in nanoseconds of the thread's own processor time, or somewhat later.
    private var runEndedRunning: UInt64 = 0
    /// Whether no further event is handled in this run.
    private var isRunOver = false

    /// Whether no connection waits.
    var isEmpty: Bool { first == tokens.count }

    /// Appends a connection.
    func join(_ token: WatchTable.Token) { tokens.append(token) }

    /// Handles no further event in this run, because the present one ends a connection: most of the work for that
    /// follows later in the turn.
    func endRun() { isRunOver = true }

    /// Handles deferred events: at least one, and more for as long as the thread has worked for other connections
    /// since the last run. So handshakes make progress even while other connections keep the loop busy. The measure
    /// is the thread's own processor time, because wall-clock time includes interruptions by other threads.
    ///
    /// - Parameter handle: handles the events of a connection; returns false if it is gone.
    func run(_ handle: (WatchTable.Token) -> Bool) {
        isRunOver = false
        let start = EventLoop.read(CLOCK_MONOTONIC)
        let sinceLast = start - runEnded
        // Reading the thread's processor time is a system call, which pays only if there may be time for a second
        // event.
        guard sinceLast > Self.shortTurn else {
            handleNext(handle)
            runEnded = EventLoop.read(CLOCK_MONOTONIC)
            // This assumes that the thread was not interrupted, so the next run is rather too short than too long.
            return runEndedRunning += runEnded - start + sinceLast
        }
        var time = EventLoop.read(CLOCK_THREAD_CPUTIME_ID)
        let end = time + min(time - min(time, runEndedRunning), Self.longestRun)
        repeat {
            guard handleNext(handle) else { break }
            time = EventLoop.read(CLOCK_THREAD_CPUTIME_ID)
        } while !isRunOver && time < end
        runEndedRunning = time
        runEnded = EventLoop.read(CLOCK_MONOTONIC)
    }

    /// Handles the oldest event. Returns false if there is none.
    @discardableResult
    private func handleNext(_ handle: (WatchTable.Token) -> Bool) -> Bool {
        while let token = next() {
            if handle(token) { return true }
        }
        return false
    }

    /// Removes and returns the connection that has waited for longest.
    private func next() -> WatchTable.Token? {
        guard first < tokens.count else { return nil }
        let token = tokens[first]
        first += 1
        if first > tokens.count / 2 {
            tokens.removeFirst(first)
            first = 0
        }
        return token
    }
}

internal import Glibc

/// FIFO of connections whose readiness events are deferred to the end of the turn.
struct DeferredQueue {
    private var tokens: [EventLoop.Token] = []
    private var first = 0
    /// When the queue was last run, in monotonic nanoseconds.
    fileprivate var visitEnded: UInt64 = 0
    /// The same moment in nanoseconds of the thread's own processor time, or somewhat later.
    fileprivate var visitEndedRunning: UInt64 = 0

    /// Whether no connection waits.
    var isEmpty: Bool { first == tokens.count }

    /// Appends a connection.
    mutating func join(_ token: EventLoop.Token) { tokens.append(token) }

    /// Removes and returns the connection that has waited for longest.
    mutating func next() -> EventLoop.Token? {
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

extension EventLoop {
    /// The most time that one run of the queue may take, in nanoseconds.
    private static let longestVisit: UInt64 = 10_000_000
    /// If a turn is shorter than this, it did less for other connections than one step of a handshake takes.
    /// Nanoseconds.
    private static let shortTurn: UInt64 = 100_000

    /// Handles deferred events: at least one, and more for as long as the thread has worked for other connections
    /// since the last run. So handshakes make progress even while other connections keep the loop busy. The measure
    /// is the thread's own processor time, because wall-clock time includes interruptions by other threads. A run also
    /// ends after an event that ends a connection, because most of the work for that follows later in the turn.
    func runDeferred() {
        isVisitOver = false
        let start = Self.read(CLOCK_MONOTONIC)
        let sinceLast = start - deferred.visitEnded
        // Reading the thread's processor time is a system call, which pays only if there may be time for a second
        // event.
        guard sinceLast > Self.shortTurn else {
            hearNext()
            deferred.visitEnded = Self.read(CLOCK_MONOTONIC)
            // This assumes that the thread was not interrupted, so the next run is rather too short than too long.
            return deferred.visitEndedRunning += deferred.visitEnded - start + sinceLast
        }
        var time = Self.read(CLOCK_THREAD_CPUTIME_ID)
        let end = time + min(time - min(time, deferred.visitEndedRunning), Self.longestVisit)
        repeat {
            guard hearNext() else { break }
            time = Self.read(CLOCK_THREAD_CPUTIME_ID)
        } while !isVisitOver && time < end
        deferred.visitEndedRunning = time
        deferred.visitEnded = Self.read(CLOCK_MONOTONIC)
    }

    /// Handles the oldest deferred event. Returns false if there is none.
    @discardableResult
    private func hearNext() -> Bool {
        while let token = deferred.next() {
            guard holds(token) else { continue }
            let number = Int(truncatingIfNeeded: token & 0xFFFF_FFFF)
            let readiness = slots[number].awaited
            slots[number].awaited = []
            tell(number, readiness)
            return true
        }
        return false
    }

    /// Defers an event of a connection.
    func wait(_ token: Token, _ readiness: Readiness) {
        let number = Int(truncatingIfNeeded: token & 0xFFFF_FFFF)
        if slots[number].awaited.isEmpty { deferred.join(token) }
        slots[number].awaited.formUnion(readiness)
    }

    /// Defers all events of a connection from now on, beginning with this one; epoll reports each event once.
    func beginDeferring(_ token: Token, _ readiness: Readiness) {
        let number = Int(truncatingIfNeeded: token & 0xFFFF_FFFF)
        slots[number].isDeferred = true
        change(Int32(number), [], token)
        wait(token, readiness)
    }

    /// Whether the events of a descriptor are deferred.
    func isDeferred(_ number: Int32) -> Bool { slots[Int(number)].isDeferred }

    /// Ends deferring, once the descriptor is registered again.
    func endDeferring(_ number: Int32) { slots[Int(number)].isDeferred = false }
}

internal import Glibc

/// Those who wait for their time, in the order in which they came.
struct DeferredQueue {
    private var line: [EventLoop.Token] = []
    private var first = 0
    /// When the last visit ended.
    fileprivate var visitEnded: UInt64 = 0
    /// The same in nanoseconds that the thread has run, or somewhat more.
    fileprivate var visitEndedRunning: UInt64 = 0

    /// Whether nobody waits.
    var isEmpty: Bool { first == line.count }

    /// Waits behind all others.
    mutating func join(_ token: EventLoop.Token) { line.append(token) }

    /// Who has waited for longest.
    mutating func next() -> EventLoop.Token? {
        guard first < line.count else { return nil }
        let token = line[first]
        first += 1
        if first > line.count / 2 {
            line.removeFirst(first)
            first = 0
        }
        return token
    }
}

extension EventLoop {
    /// Nanoseconds of a visit after a long time without one.
    private static let longestVisit: UInt64 = 10_000_000
    /// Nanoseconds of a turn in which less was done for others than a step of a handshake takes.
    private static let shortTurn: UInt64 = 100_000

    /// Hears one of those who wait for their time, or as many as take no longer than everybody else did since the
    /// last visit: who shakes hands is let in, too, where others keep the loop busy. It is the thread's own time that
    /// counts: a turn that another thread interrupted is long enough already. After the end of one that was cut the
    /// visit is over, for most of what an end takes comes later in the turn.
    func visitLobby() {
        isVisitOver = false
        let start = Self.read(CLOCK_MONOTONIC)
        let sinceLast = start - lobby.visitEnded
        // The thread's time is a call of the kernel: it is asked for only where there may be time for a second one.
        guard sinceLast > Self.shortTurn else {
            hearNext()
            lobby.visitEnded = Self.read(CLOCK_MONOTONIC)
            // All of it, had nobody interrupted us: the next visit is rather too short.
            return lobby.visitEndedRunning += lobby.visitEnded - start + sinceLast
        }
        var time = Self.read(CLOCK_THREAD_CPUTIME_ID)
        let end = time + min(time - min(time, lobby.visitEndedRunning), Self.longestVisit)
        repeat {
            guard hearNext() else { break }
            time = Self.read(CLOCK_THREAD_CPUTIME_ID)
        } while !isVisitOver && time < end
        lobby.visitEndedRunning = time
        lobby.visitEnded = Self.read(CLOCK_MONOTONIC)
    }

    /// Hears who has waited for longest. False: nobody waits.
    @discardableResult
    private func hearNext() -> Bool {
        while let token = lobby.next() {
            guard holds(token) else { continue }
            let number = Int(truncatingIfNeeded: token & 0xFFFF_FFFF)
            let readiness = slots[number].awaited
            slots[number].awaited = []
            tell(number, readiness)
            return true
        }
        return false
    }

    /// Who waits for their time is ready for something.
    func wait(_ token: Token, _ readiness: Readiness) {
        let number = Int(truncatingIfNeeded: token & 0xFFFF_FFFF)
        if slots[number].awaited.isEmpty { lobby.join(token) }
        slots[number].awaited.formUnion(readiness)
    }

    /// What is reported of a connection waits for its time from now on, this included, and each report comes once.
    func enterLobby(_ token: Token, _ readiness: Readiness) {
        let number = Int(truncatingIfNeeded: token & 0xFFFF_FFFF)
        slots[number].isInLobby = true
        change(Int32(number), [], token)
        wait(token, readiness)
    }

    /// Whether what is reported of it waits for its time.
    func isInLobby(_ number: Int32) -> Bool { slots[Int(number)].isInLobby }

    /// What is reported of it is heard at once again, when it has been watched anew.
    func leaveLobby(_ number: Int32) { slots[Int(number)].isInLobby = false }
}

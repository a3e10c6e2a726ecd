internal import Glibc

/// Who hears of which descriptor, from which of the loop's two pollers.
extension EventLoop {
    /// Hears one of those who wait for their time, or as many as take no longer than everybody else did since the
    /// last visit: who shakes hands is let in, too, where others keep the loop busy. It is the thread's own time that
    /// counts: a turn that another thread interrupted is long enough already. After the end of one that was cut the
    /// visit is over, for most of what an end takes comes later in the turn.
    func visitLobby() {
        isLobbyReady = false
        isVisitOver = false
        let start = Self.read(CLOCK_THREAD_CPUTIME_ID)
        let end = start + min(start - lastVisitEnded, Self.longestVisit)
        var time = start
        repeat {
            guard lobby.wait(milliseconds: 0) > 0 else { break }
            dispatch(lobby[0])
            time = Self.read(CLOCK_THREAD_CPUTIME_ID)
        } while !isVisitOver && time < end
        lastVisitEnded = time
    }

    /// Watches `number` and returns the token under which its events come.
    ///
    /// - Parameter inLobby: it shakes hands: it is heard when its time comes.
    func watch(
        _ number: Int32, _ interest: Readiness, _ watched: Watched, inLobby: Bool = false
    ) throws(SystemError) -> Token {
        let index = Int(number)
        while slots.count <= index { slots.append(Slot()) }
        if case .nothing = slots[index].watched {} else { preconditionFailure("bug: watched twice") }
        slots[index].generation &+= 1
        let token = UInt64(slots[index].generation) << 32 | UInt64(index)
        if inLobby {
            try lobby.add(number, interest, token: token)
        } else {
            try poller.add(number, interest, token: token)
        }
        slots[index].watched = watched
        slots[index].isInLobby = inLobby
        return token
    }

    /// The handshake is over, or the connection is about to end. False: the process has no room for it.
    func move(_ number: Int32, intoLobby: Bool, _ interest: Readiness, _ token: Token) -> Bool {
        guard slots[Int(number)].isInLobby != intoLobby else { return true }
        do {
            if intoLobby {
                try lobby.add(number, interest, token: token)
                try poller.remove(number)
            } else {
                try poller.add(number, interest, token: token)
                try lobby.remove(number)
            }
        } catch {
            return false
        }
        slots[Int(number)].isInLobby = intoLobby
        return true
    }

    /// Whether it waits for its time.
    func isInLobby(_ number: Int32) -> Bool { slots[Int(number)].isInLobby }

    func change(_ number: Int32, _ interest: Readiness, _ token: Token) {
        precondition(holds(token))
        do {
            if slots[Int(number)].isInLobby {
                try lobby.modify(number, interest, token: token)
            } else {
                try poller.modify(number, interest, token: token)
            }
        } catch {
            preconditionFailure("bug: epoll_ctl, \(error.text)")
        }
    }

    /// Ends the watch; events of it that are still to be dispatched are dropped.
    func unwatch(_ number: Int32) {
        do {
            if slots[Int(number)].isInLobby { try lobby.remove(number) } else { try poller.remove(number) }
        } catch {
            preconditionFailure("bug: epoll_ctl, \(error.text)")
        }
        slots[Int(number)].watched = .nothing
        slots[Int(number)].isInLobby = false
        slots[Int(number)].generation &+= 1
    }

    /// Whether a descriptor is still what it was. The one question that may be asked after a call into a
    /// session: the connection itself may already belong to another thread.
    func holds(_ token: Token) -> Bool {
        slots[Int(truncatingIfNeeded: token & 0xFFFF_FFFF)].generation == UInt32(token >> 32)
    }
}

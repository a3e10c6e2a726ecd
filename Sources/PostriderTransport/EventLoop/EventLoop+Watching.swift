/// Which object handles the events of which descriptor.
extension EventLoop {
    /// Watches `number` and returns the token that identifies its events.
    ///
    /// - Parameter isDeferred: whether its events are deferred to the end of the turn.
    func watch(
        _ number: Int32, _ interest: Readiness, _ watched: Watched, isDeferred: Bool = false
    ) throws(SystemError) -> Token {
        let index = Int(number)
        while slots.count <= index { slots.append(Slot()) }
        if case .nothing = slots[index].watched {} else { preconditionFailure("bug: watched twice") }
        slots[index].generation &+= 1
        let token = UInt64(slots[index].generation) << 32 | UInt64(index)
        slots[index].watched = watched
        slots[index].isDeferred = isDeferred
        do {
            try poller.add(number, slots[index].asked(interest), token: token)
        } catch {
            slots[index].clear()
            throw error
        }
        return token
    }

    /// Watches `number` for something to read until ``unwatch(_:)``, or for as long as the loop lives, and holds the
    /// source for that time.
    package func watch(_ number: Int32, readableFor source: any EventSource) throws(SystemError) {
        _ = try watch(number, .readable, .source(source))
    }

    func change(_ number: Int32, _ interest: Readiness, _ token: Token) {
        precondition(holds(token))
        do {
            try poller.modify(number, slots[Int(number)].asked(interest), token: token)
        } catch {
            preconditionFailure("bug: epoll_ctl, \(error.text)")
        }
    }

    /// Stops watching. Events of the descriptor that are not dispatched yet are dropped.
    package func unwatch(_ number: Int32) {
        do {
            try poller.remove(number)
        } catch {
            preconditionFailure("bug: epoll_ctl, \(error.text)")
        }
        slots[Int(number)].clear()
    }

    /// Whether the token's descriptor is still watched for the same object. After a call into a handler the loop may
    /// ask only this, because the connection itself may already belong to another thread.
    func holds(_ token: Token) -> Bool {
        slots[Int(truncatingIfNeeded: token & 0xFFFF_FFFF)].generation == UInt32(token >> 32)
    }
}

/// A connection with its session on its way to another loop. Dropped instead of adopted, it closes the
/// socket and tells nobody.
///
/// Unchecked: neither connection nor session is Sendable, but `detach` has taken both out of every list of
/// their loop, and the crate is all that leads to them until `adopt` puts them into another's.
public struct DetachedConnection: @unchecked Sendable {
    fileprivate let connection: Connection
}

extension Connection {
    /// Takes the connection out of its loop, which calls nothing of it any more. Nil if it is not open (it
    /// may have ended in this very turn).
    ///
    /// To be called last in `opened` or `received`, after every call below it has returned, or outside of the session's
    /// calls altogether; not in `flush`. From then on the session is the new loop's: the caller lets go of
    /// it. Timers of the session belong to the old loop and have to be dropped before.
    public func detach() -> DetachedConnection? {
        precondition(!isFlushing, "bug: a connection is detached while it is flushed")
        guard case .open = phase, let loop else { return nil }
        phase = .moving
        deadline = nil
        watch = nil
        loop.unwatch(number)
        loop.connectionCount -= 1
        if let tls { tls.release(using: loop.workspace(of: tls)) }
        self.loop = nil
        isDirty = false
        isInterestQueued = false
        return DetachedConnection(connection: self)
    }

    /// Goes on where the old loop left off: reads what TLS may hold, flushes what the session may have.
    fileprivate func settle(on loop: EventLoop) {
        precondition(descriptor != nil && self.loop == nil, "bug: a crate is adopted twice")
        phase = .open
        do {
            try watch(on: loop)
        } catch {
            if let session { loop.departs(session, .overloaded) }
            session = nil
            tls = nil
            descriptor = nil
            phase = .ended
            return
        }
        self.loop = loop
        sparedTurn = 0
        if isBlocked { setDeadline(limits.writeMilliseconds) }
        watchSession()
        setNeedsFlush()
        if tls != nil { loop.hasUnreadInput(token) }
    }
}

extension EventLoop {
    /// Continues a connection that another loop let go, and returns its session. `opened` is not called
    /// again, and the session's wire stays the same object.
    @discardableResult
    public func adopt(_ crate: DetachedConnection) -> any ConnectionHandler {
        guard let session = crate.connection.session else {
            preconditionFailure("bug: a crate is adopted twice")
        }
        crate.connection.settle(on: self)
        return session
    }

    /// Continues a connection for another session, to which nothing has happened yet: its `opened` is called. The one
    /// that the connection had hears nothing more.
    public func adopt(_ crate: DetachedConnection, for session: any ConnectionHandler) {
        let connection = crate.connection
        connection.session = session
        connection.settle(on: self)
        guard case .open = connection.phase else { return }
        session.opened(on: connection)
    }
}

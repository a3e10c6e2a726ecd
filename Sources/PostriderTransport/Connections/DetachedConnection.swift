/// A connection with its handler that is moving to another loop. If it is released without being adopted, the socket
/// is closed and the handler is not told.
///
/// It is `@unchecked Sendable` although neither connection nor handler is Sendable: `detach` has removed both from
/// every list of their loop, and this value holds the only references to them until `adopt` adds them to another
/// loop.
public struct DetachedConnection: @unchecked Sendable {
    fileprivate let connection: Connection
}

extension Connection {
    /// Removes the connection from its loop, which makes no more calls on it. Returns nil if the connection is not
    /// open; it may have ended in this very turn.
    ///
    /// This must be the last call in `opened` or `received`, or be made outside of the handler's calls; it must not
    /// be made in `flush`. From then on the handler belongs to the new loop, so the caller must release it. The
    /// handler must release its timers before, because they belong to the old loop.
    public func detach() -> DetachedConnection? {
        precondition(!writing.isFlushing, "bug: a connection is detached while it is flushed")
        guard case .open = phase, let loop else { return nil }
        phase = .moving
        deadline = nil
        watch = nil
        loop.unwatch(number)
        loop.connectionCount -= 1
        stream.leave(loop)
        self.loop = nil
        writing.isDirty = false
        polled.isQueued = false
        return DetachedConnection(connection: self)
    }

    /// Continues after a move: reads what TLS may have buffered, and flushes what the handler may have to send.
    fileprivate func settle(on loop: EventLoop) {
        precondition(stream.isOpen && self.loop == nil, "bug: a crate is adopted twice")
        phase = .open
        do {
            try watch(on: loop)
        } catch {
            if let session { loop.work.add(departed: session, .overloaded) }
            session = nil
            stream.close()
            phase = .ended
            return
        }
        self.loop = loop
        reading.sparedTurn = 0
        if isBlocked { setDeadline(limits.writeMilliseconds) }
        watchSession()
        setNeedsFlush()
        if stream.tls != nil { loop.work.add(unread: token) }
    }
}

extension EventLoop {
    /// Continues a connection that another loop detached, and returns its handler. `opened` is not called again, and
    /// the handler's output stays the same object.
    @discardableResult
    public func adopt(_ crate: DetachedConnection) -> any ConnectionHandler {
        guard let session = crate.connection.session else {
            preconditionFailure("bug: a crate is adopted twice")
        }
        crate.connection.settle(on: self)
        return session
    }

    /// Continues a connection with another handler, which must be unused: its `opened` is called. The connection's
    /// former handler gets no more calls.
    public func adopt(_ crate: DetachedConnection, for session: any ConnectionHandler) {
        let connection = crate.connection
        connection.session = session
        connection.settle(on: self)
        guard case .open = connection.phase else { return }
        session.opened(on: connection)
    }
}

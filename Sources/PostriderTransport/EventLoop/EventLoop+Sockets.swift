internal import Glibc

extension EventLoop {
    /// Listens on this loop with a TLS provider that is never replaced. The other parameters are those of the method
    /// below.
    /// - Parameter tls: nil for no TLS.
    @discardableResult
    public func listen(
        _ address: SocketAddress, tls: (any TLSProvider)? = nil, limits: ConnectionLimits = .server,
        port: PortUse = .exclusive, mode: UInt32 = 0o600,
        makeSession: @escaping (Peer) -> (any ConnectionHandler)?
    ) throws(TransportError) -> Listener {
        try listen(
            address, renewable: tls.map { RenewableTLS($0) }, limits: limits, port: port, mode: mode,
            makeSession: makeSession)
    }

    /// Listens on this loop.
    /// - Parameters:
    ///   - address: the file of a Unix socket is created with `mode`; a file that no process listens behind is
    ///     replaced.
    ///   - inherited: a socket of the address among these is used instead of a new one.
    ///   - tls: a connection keeps the provider that is current when it is accepted; nil for no TLS.
    ///   - makeSession: called when a connection is established, including TLS; if it returns nil, the connection is
    ///     refused.
    @discardableResult
    public func listen(
        _ address: SocketAddress, renewable tls: RenewableTLS?, limits: ConnectionLimits = .server,
        port: PortUse = .exclusive, mode: UInt32 = 0o600, inherited: InheritedSockets? = nil,
        makeSession: @escaping (Peer) -> (any ConnectionHandler)?
    ) throws(TransportError) -> Listener {
        do {
            let copy = try inherited?.copy(of: address)
            let descriptor =
                if let copy { Descriptor(owning: copy) } else { try Listener.bind(address, port, mode) }
            let actual = Socket.localAddress(descriptor.number) ?? address
            return try Listener(
                descriptor, at: actual, isInherited: copy != nil, on: self, tls: tls, limits: limits,
                makeSession: makeSession)
        } catch {
            throw TransportError(Listener.sentence(address, error))
        }
    }

    /// Connects from this loop. `session` gets the outcome in any case, and never before this call returns.
    /// - Parameters:
    ///   - tls: the TLS provider, and the name for which the server's certificate must be valid; nil for no TLS.
    ///   - origin: the local address to connect from; nil lets the kernel choose.
    ///   - timeoutMilliseconds: the limit for the TCP connection. The limit for the handshake is in `limits`.
    @discardableResult
    public func connect(
        to address: SocketAddress, tls: (context: any TLSProvider, serverName: String)? = nil,
        from origin: SocketAddress? = nil, timeoutMilliseconds: Int = 10_000,
        limits: ConnectionLimits = .client, session: any ConnectionHandler
    ) -> (any ConnectionOutput)? {
        guard !isStopping else {
            work.add(departed: session, .loopStopped)
            return nil
        }
        readClocksOutsideOfTurn()
        do {
            let descriptor = try Socket.connecting(to: address, from: origin)
            let number = descriptor.number
            let stream = try tls.map { tls throws(TLSFailure) in
                try tls.context.connect(number, serverName: tls.serverName)
            }
            let result = Socket.connect(number, to: address)
            if case .failed(let error) = result { throw error }
            if case .wouldBlock = result, address.unixPath != nil { throw SystemError(number: ECONNREFUSED) }
            let connection = try Connection(
                descriptor, ConnectionOpening(.connecting), on: self, tls: stream,
                peer: Peer(address: address.description, credentials: nil), limits: limits)
            connection.session = session
            connection.setDeadline(timeoutMilliseconds)
            return connection
        } catch let error as SystemError {
            work.add(departed: session, .refused(error.text))
        } catch let error as TLSFailure {
            work.add(departed: session, .handshakeFailed(error.description))
        } catch {
            preconditionFailure("bug: \(error)")
        }
        return nil
    }

    /// The state that the TLS sessions of this loop share. It is made on first use.
    func workspace(of session: any TLSSession) -> any TLSWorkspace {
        if let tlsWorkspace { return tlsWorkspace }
        let made = session.makeWorkspace()
        tlsWorkspace = made
        return made
    }
}

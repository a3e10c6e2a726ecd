internal import CPostriderLinux
internal import Glibc

/// Whether other loops may listen on the same TCP address.
public enum PortUse: Sendable {
    /// No other socket listens on the address, and none can.
    case exclusive
    /// Loops of this user share the address. The kernel does not report a conflict with another program that shares
    /// it too, so a program calls `Listener.requireFree` before its first listener.
    case shared
}

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
        guard !hasStopped else {
            departs(session, .loopStopped)
            return nil
        }
        readClocksOutsideOfTurn()
        do {
            let descriptor = try Self.socket(for: address, from: origin)
            let number = descriptor.number
            let stream = try tls.map { tls throws(TLSFailure) in
                try tls.context.connect(number, serverName: tls.serverName)
            }
            let result = Socket.connect(number, to: address)
            if case .failed(let error) = result { throw error }
            if case .wouldBlock = result, address.unixPath != nil { throw SystemError(number: ECONNREFUSED) }
            let connection = try Connection(
                descriptor, .connecting, on: self, tls: stream,
                peer: Peer(address: address.description, credentials: nil), limits: limits)
            connection.session = session
            connection.setDeadline(timeoutMilliseconds)
            return connection
        } catch let error as SystemError {
            departs(session, .refused(error.text))
        } catch let error as TLSFailure {
            departs(session, .handshakeFailed(error.description))
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

    private static func socket(
        for address: SocketAddress, from origin: SocketAddress?
    ) throws(SystemError) -> Descriptor {
        let descriptor = try Socket.make(address.family)
        if address.unixPath == nil {
            try Socket.set(Int32(IPPROTO_TCP), TCP_NODELAY, 1, on: descriptor.number)
        }
        if let origin {
            // With this option the kernel chooses the local port by both addresses, so one origin can have many
            // connections.
            try Socket.set(Int32(IPPROTO_IP), IP_BIND_ADDRESS_NO_PORT, 1, on: descriptor.number)
            try Socket.bind(descriptor.number, to: origin)
        }
        return descriptor
    }
}

extension Listener {
    /// Throws if a socket listens at `address`, even one that would share it.
    public static func requireFree(_ address: SocketAddress) throws(TransportError) {
        guard address.unixPath == nil, address.port != 0 else { return }
        do {
            _ = try bind(address, .exclusive, 0)
        } catch {
            throw TransportError(sentence(address, error))
        }
    }

    static func bind(
        _ address: SocketAddress, _ port: PortUse, _ mode: UInt32
    ) throws(SystemError) -> Descriptor {
        let descriptor = try Socket.make(address.family)
        let number = descriptor.number
        if let path = address.unixPath {
            try removeStale(address, path)
            // The file of the socket takes the mode that the socket has when it is bound, so the file is never open
            // to others.
            _ = try systemCall("fchmod") { Int(fchmod(number, mode)) }.get()
            try Socket.bind(number, to: address)
            _ = try systemCall("chmod") { unsafe Int(chmod(path, mode)) }.get()
        } else {
            try Socket.set(SOL_SOCKET, SO_REUSEADDR, 1, on: number)
            // Accepted connections inherit this option.
            try Socket.set(Int32(IPPROTO_TCP), TCP_NODELAY, 1, on: number)
            if case .shared = port { try Socket.set(SOL_SOCKET, SO_REUSEPORT, 1, on: number) }
            if address.family == AF_INET6 { try Socket.set(Int32(IPPROTO_IPV6), IPV6_V6ONLY, 1, on: number) }
            try Socket.bind(number, to: address)
        }
        try Socket.listen(number)
        return descriptor
    }

    /// Removes the file of a Unix socket that a killed process left behind. It is removed only if no process listens
    /// behind it; a file that is not a socket is never removed.
    private static func removeStale(_ address: SocketAddress, _ path: String) throws(SystemError) {
        let probe = try Socket.make(AF_UNIX)
        guard case .failed(let error) = Socket.connect(probe.number, to: address) else {
            throw SystemError(number: EADDRINUSE)
        }
        var status = stat()
        guard error.number == ECONNREFUSED, unsafe lstat(path, &status) == 0 else { return }
        guard status.st_mode & S_IFMT == S_IFSOCK else { throw SystemError(number: EEXIST) }
        _ = unsafe unlink(path)
    }

    static func sentence(_ address: SocketAddress, _ error: SystemError) -> String {
        let advice =
            switch error.number {
            case EADDRINUSE: "something else listens there; stop it, or choose another address"
            case EEXIST: "a file that is no socket is there; remove it, or choose another path"
            case EADDRNOTAVAIL: "no interface of this machine has that address; choose one that it has"
            case EACCES, EPERM:
                "this user may not; choose a port from 1024 on, or a directory that it may write to"
            case ENOENT, ENOTDIR: "its directory does not exist; make it"
            default: "\(error.text)"
            }
        return "Cannot listen on \(address): \(advice)."
    }
}

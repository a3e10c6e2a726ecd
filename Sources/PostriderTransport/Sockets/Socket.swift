internal import CPostriderLinux
internal import Glibc

/// Calls on sockets. Every socket of this module is non-blocking, and is closed when the process executes another
/// program.
enum Socket {
    static func make(_ family: Int32) throws(SystemError) -> Descriptor {
        let type = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        return Descriptor(owning: Int32(try systemCall("socket") { Int(socket(family, type, 0)) }.get()))
    }

    static func set(_ level: Int32, _ option: Int32, _ value: Int32, on number: Int32) throws(SystemError) {
        var value = value
        _ = try systemCall("setsockopt") { unsafe Int(setsockopt(number, level, option, &value, 4)) }.get()
    }

    static func bind(_ number: Int32, to address: SocketAddress) throws(SystemError) {
        _ = try unsafe address.withKernelForm { pointer, length in
            systemCall("bind") { unsafe Int(Glibc.bind(number, pointer, length)) }
        }.get()
    }

    static func listen(_ number: Int32) throws(SystemError) {
        _ = try systemCall("listen") { Int(Glibc.listen(number, 4096)) }.get()
    }

    /// Makes the socket of a connection to `address`.
    ///
    /// - Parameter origin: the local address to connect from; nil lets the kernel choose.
    static func connecting(
        to address: SocketAddress, from origin: SocketAddress?
    ) throws(SystemError) -> Descriptor {
        let descriptor = try make(address.family)
        if address.unixPath == nil {
            try set(Int32(IPPROTO_TCP), TCP_NODELAY, 1, on: descriptor.number)
        }
        if let origin {
            // With this option the kernel chooses the local port by both addresses, so one origin can have many
            // connections.
            try set(Int32(IPPROTO_IP), IP_BIND_ADDRESS_NO_PORT, 1, on: descriptor.number)
            try bind(descriptor.number, to: origin)
        }
        return descriptor
    }

    /// Starts to connect. After `wouldBlock`, the outcome is known when the socket becomes writable.
    static func connect(_ number: Int32, to address: SocketAddress) -> SystemResult {
        unsafe address.withKernelForm { pointer, length in
            systemCall("connect") { unsafe Int(Glibc.connect(number, pointer, length)) }
        }
    }

    /// The error of a connect(2) that went on in the background; nil if it succeeded.
    static func pendingError(_ number: Int32) -> SystemError? {
        var value: Int32 = 0
        var length: socklen_t = 4
        let result = systemCall("getsockopt") {
            unsafe Int(getsockopt(number, SOL_SOCKET, SO_ERROR, &value, &length))
        }
        if case .failed(let error) = result { return error }
        return value == 0 ? nil : SystemError(number: value)
    }

    /// Accepts the next connection of the queue, and writes the address of its peer to `address`.
    static func accept(_ number: Int32, from address: inout sockaddr_storage) -> SystemResult {
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let flags = Int32(SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        return unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                systemCall("accept4") { unsafe Int(accept4(number, pointer, &length, flags)) }
            }
        }
    }

    /// The address that the socket is bound to, with the port that the kernel chose.
    static func localAddress(_ number: Int32) -> SocketAddress? {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let result = unsafe withUnsafeMutablePointer(to: &storage) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                systemCall("getsockname") { unsafe Int(getsockname(number, pointer, &length)) }
            }
        }
        guard case .done = result else { return nil }
        return SocketAddress(storage)
    }

    /// The process at the other end of a Unix socket; nil if the kernel does not tell.
    static func credentials(_ number: Int32) -> Peer.Credentials? {
        var value = clinux_credentials()
        var length = socklen_t(MemoryLayout<clinux_credentials>.size)
        let result = systemCall("getsockopt") {
            unsafe Int(getsockopt(number, SOL_SOCKET, SO_PEERCRED, &value, &length))
        }
        guard case .done = result else { return nil }
        return Peer.Credentials(user: value.user, group: value.group, process: value.process)
    }

    static func receive(_ number: Int32, into buffer: UnsafeMutableBufferPointer<UInt8>) -> SystemResult {
        systemCall("recv") { unsafe recv(number, buffer.baseAddress, buffer.count, 0) }
    }

    /// Writes what can be read to `buffer`, and leaves it in the socket.
    static func peek(_ number: Int32, into buffer: UnsafeMutableBufferPointer<UInt8>) -> SystemResult {
        systemCall("recv") { unsafe recv(number, buffer.baseAddress, buffer.count, Int32(MSG_PEEK)) }
    }

    /// Returns at most `count` bytes of what can be read, and leaves them in the socket.
    static func peek(_ number: Int32, atMost count: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        let result = systemCall("recv") { unsafe recv(number, &bytes, count, Int32(MSG_PEEK)) }
        guard case .done(let length) = result else { return [] }
        return Array(bytes.prefix(length))
    }

    static func send(_ number: Int32, _ bytes: Span<UInt8>) -> SystemResult {
        unsafe bytes.withUnsafeBufferPointer { buffer in
            systemCall("send") {
                unsafe Glibc.send(number, buffer.baseAddress, buffer.count, Int32(MSG_NOSIGNAL))
            }
        }
    }

    /// Ends our output, so that the peer reads end of file. It is no error if the peer is gone already.
    static func endOutput(_ number: Int32) {
        _ = systemCall("shutdown") { Int(shutdown(number, Int32(SHUT_WR))) }
    }
}

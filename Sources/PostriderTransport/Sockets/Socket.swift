internal import CPostriderLinux
internal import Glibc

/// What this module asks of sockets. All of them are non-blocking, and closed when another program is
/// executed.
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

    /// `wouldBlock`: the outcome is known when the socket becomes writable.
    static func connect(_ number: Int32, to address: SocketAddress) -> SystemResult {
        unsafe address.withKernelForm { pointer, length in
            systemCall("connect") { unsafe Int(Glibc.connect(number, pointer, length)) }
        }
    }

    /// What became of a connect.
    static func pendingError(_ number: Int32) -> SystemError? {
        var value: Int32 = 0
        var length: socklen_t = 4
        let result = systemCall("getsockopt") {
            unsafe Int(getsockopt(number, SOL_SOCKET, SO_ERROR, &value, &length))
        }
        if case .failed(let error) = result { return error }
        return value == 0 ? nil : SystemError(number: value)
    }

    /// The next connection in the queue and where it comes from.
    static func accept(_ number: Int32, from address: inout sockaddr_storage) -> SystemResult {
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let flags = Int32(SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        return unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                systemCall("accept4") { unsafe Int(accept4(number, pointer, &length, flags)) }
            }
        }
    }

    /// Where the socket is bound to, with the port that the kernel chose.
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

    /// Who is at the other end of a Unix socket.
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

    /// At most so many bytes of what can be read; they stay in the socket.
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

    /// Ends our output; the peer reads its end. A peer that is gone already is no failure.
    static func endOutput(_ number: Int32) {
        _ = systemCall("shutdown") { Int(shutdown(number, Int32(SHUT_WR))) }
    }
}

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

internal import CPostriderLinux
internal import Glibc

/// The listening sockets that the service manager has opened before this process, by their addresses
/// (sd_listen_fds(3)). The service manager keeps them open while the service is restarted, so that connections wait
/// instead of being refused.
///
/// The descriptors stay open until the process ends. Each listener uses a copy of its own.
public final class InheritedSockets: Sendable {
    private struct Entry: Sendable {
        let name: String
        let address: SocketAddress
        let descriptor: Int32
    }

    private let entries: [Entry]

    /// Takes over descriptors 3, 4, …, one for each name.
    ///
    /// - Throws: a sentence about the first that is not a listening TCP socket or Unix stream socket.
    public init(names: [String]) throws(TransportError) {
        var entries: [Entry] = []
        for (number, name) in zip(Self.first..., names) {
            guard let address = Self.adopt(number) else {
                throw TransportError(
                    "The service manager has passed '\(name)' as descriptor \(number), which is not a "
                        + "listening TCP socket or Unix socket: correct ListenStream= in its unit.")
            }
            entries.append(Entry(name: name, address: address, descriptor: number))
        }
        self.entries = entries
    }

    /// The names of the sockets, each once, in order.
    public var names: [String] {
        var names: [String] = []
        for entry in entries where !names.contains(entry.name) { names.append(entry.name) }
        return names
    }

    /// The addresses of the sockets with a name.
    public func addresses(of name: String) -> [SocketAddress] {
        entries.filter { $0.name == name }.map(\.address)
    }

    /// Whether there is a socket of this address.
    public func has(_ address: SocketAddress) -> Bool { entries.contains { $0.address == address } }

    /// A copy of the socket of an address; nil if there is none.
    func copy(of address: SocketAddress) throws(SystemError) -> Int32? {
        guard let entry = entries.first(where: { $0.address == address }) else { return nil }
        return Int32(
            try systemCall("fcntl") { Int(fcntl(entry.descriptor, F_DUPFD_CLOEXEC, Self.first)) }.get())
    }

    /// The first descriptor that is passed: SD_LISTEN_FDS_START.
    private static let first: Int32 = 3

    /// Prepares a descriptor as this module's own sockets are, and returns its address; nil if it is no listening
    /// stream socket.
    private static func adopt(_ number: Int32) -> SocketAddress? {
        var status = stat()
        guard unsafe fstat(number, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK,
            option(SO_ACCEPTCONN, of: number) == 1, let address = Socket.localAddress(number)
        else { return nil }
        guard fcntl(number, F_SETFD, FD_CLOEXEC) == 0,
            fcntl(number, F_SETFL, fcntl(number, F_GETFL) | O_NONBLOCK) == 0
        else { return nil }
        if address.unixPath == nil {
            // Accepted connections inherit this option.
            try? Socket.set(Int32(IPPROTO_TCP), TCP_NODELAY, 1, on: number)
        }
        return address
    }

    private static func option(_ option: Int32, of number: Int32) -> Int32 {
        var value: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        return unsafe getsockopt(number, SOL_SOCKET, option, &value, &length) == 0 ? value : 0
    }
}

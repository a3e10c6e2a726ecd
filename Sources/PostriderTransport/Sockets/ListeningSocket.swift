internal import Glibc

/// A socket that listens without a loop: for a library that accepts by itself. It is bound as a ``Listener``'s is, and
/// closed when this goes; the file of a Unix socket is removed then.
public final class ListeningSocket: Sendable {
    /// Where it listens, with the port that the kernel chose if 0 was asked for.
    public let address: SocketAddress
    private let descriptor: Descriptor

    /// Listens at an address that nobody else listens at; the file of a Unix socket is made with mode 0600.
    ///
    /// - Throws: one sentence that names the address and what to do.
    public init(_ address: SocketAddress) throws(TransportError) {
        do {
            descriptor = try Listener.bind(address, .exclusive, 0o600)
            self.address = Socket.localAddress(descriptor.number) ?? address
        } catch {
            throw TransportError(Listener.sentence(address, error))
        }
    }

    deinit {
        if let path = address.unixPath { _ = unsafe unlink(path) }
    }

    /// A descriptor of the same socket, non-blocking, which whoever asks closes.
    public func duplicate() throws(TransportError) -> Int32 {
        do {
            return Int32(
                try systemCall("fcntl") { Int(fcntl(descriptor.number, F_DUPFD_CLOEXEC, 3)) }.get())
        } catch {
            throw TransportError("Cannot listen on \(address): \(error.text).")
        }
    }
}

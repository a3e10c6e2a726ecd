internal import Glibc

/// A socket that listens without a loop, for a library that accepts connections by itself. It is bound in the same
/// way as a ``Listener``'s. When it is released, it is closed and the file of a Unix socket is removed.
public final class ListeningSocket: Sendable {
    /// The address it listens on, with the port that the kernel chose if the port was 0.
    public let address: SocketAddress
    private let descriptor: Descriptor
    /// Whether the service manager owns the socket, and the file of a Unix socket.
    private let isInherited: Bool

    /// Listens exclusively on an address. The file of a Unix socket is created with mode 0600.
    ///
    /// - Parameter inherited: a socket of the address among these is used instead.
    /// - Throws: one sentence that names the address and says what to do.
    public init(
        _ address: SocketAddress, inherited: InheritedSockets? = nil
    ) throws(TransportError) {
        do {
            if let copy = try inherited?.copy(of: address) {
                descriptor = Descriptor(owning: copy)
                isInherited = true
            } else {
                descriptor = try Listener.bind(address, .exclusive, 0o600)
                isInherited = false
            }
            self.address = Socket.localAddress(descriptor.number) ?? address
        } catch {
            throw TransportError(Listener.sentence(address, error))
        }
    }

    deinit {
        if !isInherited, let path = address.unixPath { _ = unsafe unlink(path) }
    }

    /// Returns a new non-blocking descriptor of the same socket, which the caller must close.
    public func duplicate() throws(TransportError) -> Int32 {
        do {
            return Int32(
                try systemCall("fcntl") { Int(fcntl(descriptor.number, F_DUPFD_CLOEXEC, 3)) }.get())
        } catch {
            throw TransportError("Cannot listen on \(address): \(error.text).")
        }
    }
}

internal import Glibc

/// A file descriptor received in a message. It is closed when the last reference is released.
public final class BusDescriptor: Equatable, Sendable {
    /// The number of the descriptor, valid while this object exists.
    public let number: Int32

    /// Duplicates a descriptor that belongs to a message.
    init?(copying number: Int32) {
        let copy = fcntl(number, F_DUPFD_CLOEXEC, 3)
        guard copy >= 0 else { return nil }
        self.number = copy
    }

    deinit { _ = close(number) }

    /// Whether both are the same object.
    public static func == (one: BusDescriptor, other: BusDescriptor) -> Bool { one === other }
}

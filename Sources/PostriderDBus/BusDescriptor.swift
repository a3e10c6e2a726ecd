internal import Glibc

/// A file descriptor that came in a message: ours, and closed when the last holder lets go of it.
public final class BusDescriptor: Equatable, Sendable {
    /// Its number, for as long as this is held.
    public let number: Int32

    /// A copy of one that belongs to a message.
    init?(copying number: Int32) {
        let copy = fcntl(number, F_DUPFD_CLOEXEC, 3)
        guard copy >= 0 else { return nil }
        self.number = copy
    }

    deinit { _ = close(number) }

    /// Whether both are the same one.
    public static func == (one: BusDescriptor, other: BusDescriptor) -> Bool { one === other }
}

internal import Glibc

/// One owner of one file descriptor: it is closed when its owner goes, and cannot be closed twice.
struct Descriptor: ~Copyable, Sendable {
    let number: Int32

    /// Takes over `number`, which nobody else may close.
    init(owning number: Int32) {
        precondition(number >= 0)
        self.number = number
    }

    /// Not through the funnel: Linux has let go of the descriptor even when close says EINTR.
    deinit { _ = close(number) }
}

internal import Glibc

/// The owner of one file descriptor. It closes the descriptor when it is released, so the descriptor cannot be closed
/// twice.
struct Descriptor: ~Copyable, Sendable {
    let number: Int32

    /// Takes ownership of `number`, which no other code may close.
    init(owning number: Int32) {
        precondition(number >= 0)
        self.number = number
    }

    /// This does not go through `systemCall`, because Linux closes the descriptor even if close(2) returns EINTR.
    deinit { _ = close(number) }
}

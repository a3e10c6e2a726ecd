internal import Glibc

/// The owner of one file descriptor. It closes the descriptor when it is released, so the descriptor cannot be closed
/// twice.
package struct Descriptor: ~Copyable, Sendable {
    package let number: Int32

    /// Takes ownership of `number`, which no other code may close.
    package init(owning number: Int32) {
        precondition(number >= 0)
        self.number = number
    }

    /// This does not go through `systemCall`, because Linux closes the descriptor even if close(2) returns EINTR.
    deinit { _ = close(number) }
}

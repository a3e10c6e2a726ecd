/// Why a socket, a thread, a process or another system resource could not be set up: one sentence that says what
/// failed, where, why, and what to do.
public struct TransportError: Error, CustomStringConvertible, Equatable, Sendable {
    /// The sentence, written for the person who runs the program.
    public let description: String

    /// Creates an error with this sentence.
    public init(_ description: String) { self.description = description }
}

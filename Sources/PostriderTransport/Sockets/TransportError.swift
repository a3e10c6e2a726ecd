/// Why something that was asked of the transport could not be set up: one sentence that says what, where,
/// why, and what to do.
public struct TransportError: Error, CustomStringConvertible, Equatable, Sendable {
    /// The sentence, for a person who runs the program.
    public let description: String

    /// An error that says `description`.
    public init(_ description: String) { self.description = description }
}

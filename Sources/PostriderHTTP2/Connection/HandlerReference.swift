/// Leads a session to its handler, which it does not retain.
///
/// What is read from an `unowned(unsafe)` property is retained for each call, by an atomic instruction, and released by
/// another: five times for each push. Lent in this way it is not, which takes its type to be known.
class HandlerReference {
    /// Lends the handler for a call.
    func lend(_ call: (any SessionHandler) -> Void) { preconditionFailure("a reference has a type") }

    /// A reference to a handler, which outlives it.
    static func to(_ handler: some SessionHandler) -> HandlerReference { TypedReference(handler) }
}

@safe
private final class TypedReference<Handler: SessionHandler>: HandlerReference {
    private let handler: Unmanaged<Handler>

    init(_ handler: Handler) { unsafe self.handler = Unmanaged.passUnretained(handler) }

    override func lend(_ call: (any SessionHandler) -> Void) {
        unsafe handler._withUnsafeGuaranteedRef { call($0) }
    }
}

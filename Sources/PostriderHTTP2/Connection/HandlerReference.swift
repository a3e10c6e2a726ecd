/// A connection's reference to its handler, which it does not retain.
///
/// Reading an object from an `unowned(unsafe)` property retains and releases it with atomic instructions, five times
/// for each push. `Unmanaged` avoids that if the type of the handler is known.
class HandlerReference {
    /// Calls `call` with the handler.
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

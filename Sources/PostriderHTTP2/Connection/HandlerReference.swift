/// A connection's reference to its handler, which it does not retain.
///
/// An object that is read from an `unowned(unsafe)` property is retained and released for each call, by atomic
/// instructions: five times for each push. An `Unmanaged` lends it without, if the type of the handler is known.
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

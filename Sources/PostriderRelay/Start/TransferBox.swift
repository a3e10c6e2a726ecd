import Synchronization

/// Hands one value to another thread, which takes it out: whoever still has the box does not keep the value alive.
final class TransferBox<Content: Sendable>: Sendable {
    private let content: Mutex<Content?>

    init(_ content: Content) { self.content = Mutex(content) }

    /// The value, once; nil after that.
    func take() -> Content? {
        content.withLock { content in
            defer { content = nil }
            return content
        }
    }
}

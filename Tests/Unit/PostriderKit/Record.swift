import PostriderKit
import Synchronization

extension NotificationName {
    static let shipped = NotificationName(rawValue: "shipped")
    static let paid = NotificationName(rawValue: "paid")
}

final class Sender: Sendable {}

/// What observers were given, in order.
final class Record: Sendable {
    private let entries = Mutex<[String]>([])
    var texts: [String] { entries.withLock { $0 } }
    func add(_ text: String) { entries.withLock { $0.append(text) } }
}

/// Something that must be done when the last reference to it goes.
final class Farewell: Sendable {
    private let action: @Sendable () -> Void
    init(_ action: @escaping @Sendable () -> Void) { self.action = action }
    deinit { action() }
}

/// A place for something that an observer wants to see or to end.
final class Slot<Content: Sendable>: Sendable {
    private let content = Mutex<Content?>(nil)
    func put(_ new: Content) { content.withLock { $0 = new } }
    func take() -> Content? {
        content.withLock { content in
            defer { content = nil }
            return content
        }
    }
}

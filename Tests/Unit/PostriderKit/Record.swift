import PostriderKit
import Synchronization

extension NotificationName {
    static let shipped = NotificationName(rawValue: "shipped")
    static let paid = NotificationName(rawValue: "paid")
}

final class Sender: Sendable {}

/// The events that observers got, in order.
final class Record: Sendable {
    private let entries = Mutex<[String]>([])
    var texts: [String] { entries.withLock { $0 } }
    func add(_ text: String) { entries.withLock { $0.append(text) } }
}

/// An object that runs an action when its last reference is released.
final class Farewell: Sendable {
    private let action: @Sendable () -> Void
    init(_ action: @escaping @Sendable () -> Void) { self.action = action }
    deinit { action() }
}

/// Holds a value that an observer reads or clears.
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

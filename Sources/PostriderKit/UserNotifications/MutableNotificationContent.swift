/// Content with reference semantics, like `UNMutableNotificationContent`. It has the properties of
/// ``NotificationContent``, and all references see its changes. A request copies the content when it is created.
@dynamicMemberLookup
public final class MutableNotificationContent {
    /// The current content.
    public var content: NotificationContent

    /// Creates empty content.
    public init() { content = NotificationContent() }

    /// Creates content with these initial values.
    public init(_ content: NotificationContent) { self.content = content }

    /// A property of the content.
    public subscript<Value>(dynamicMember property: WritableKeyPath<NotificationContent, Value>) -> Value {
        get { content[keyPath: property] }
        set { content[keyPath: property] = newValue }
    }
}

extension NotificationContent {
    /// A copy that can be changed: a ``MutableNotificationContent``.
    public func mutableCopy() -> Any { MutableNotificationContent(self) }

    /// Copies the current content.
    public init(_ content: MutableNotificationContent) { self = content.content }
}

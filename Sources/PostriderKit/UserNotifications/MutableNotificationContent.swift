/// A content that is being put together, in the manner of `UNMutableNotificationContent`: it has the properties of
/// ``NotificationContent``, and all who hold it see its changes. A request takes the content as it is when it is made.
@dynamicMemberLookup
public final class MutableNotificationContent {
    /// The content as it is now.
    public var content: NotificationContent

    /// A content that shows nothing.
    public init() { content = NotificationContent() }

    /// A content to begin with.
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

    /// A content as it is now.
    public init(_ content: MutableNotificationContent) { self = content.content }
}

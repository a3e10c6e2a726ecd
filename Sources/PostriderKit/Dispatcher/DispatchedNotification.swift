/// The name of a notification. An app adds its own in an extension:
///
///     extension NotificationName {
///         static let orderShipped = NotificationName(rawValue: "orderShipped")
///     }
public struct NotificationName: RawRepresentable, Hashable, Sendable {
    /// The name as text. Two names are equal if their texts are.
    public let rawValue: String

    /// Creates a name from its text.
    public init(rawValue: String) { self.rawValue = rawValue }
}

extension NotificationName: CustomStringConvertible {
    /// The text of the name.
    public var description: String { rawValue }
}

/// The object that posts a notification. It is compared by identity, and is not kept alive.
public typealias NotificationSender = any AnyObject & Sendable

/// A notification as a ``NotificationDispatcher`` gives it to observers.
public struct DispatchedNotification: Sendable {
    /// The name of the notification.
    public let name: NotificationName
    /// The object that posted the notification; nil if it has no sender.
    public let sender: NotificationSender?
    /// The values of the notification; for a remote notification, the values of its payload.
    public let userInfo: UserInfo
    /// The payload of a remote notification, byte for byte as the provider sent it; nil for all others.
    public let payload: [UInt8]?
    /// The headers of a push; nil for other notifications, and for a push that no agent has handed over.
    public let push: PushHeaders?
    /// The handling that the agent waits for; nil if nothing waits.
    let handling: Handling?

    /// Creates a notification from its parts.
    public init(name: NotificationName, sender: NotificationSender? = nil, userInfo: UserInfo = [:]) {
        self.init(
            name: name, sender: sender, userInfo: userInfo, payload: nil, push: nil, handling: nil)
    }

    init(
        name: NotificationName, sender: NotificationSender?, userInfo: UserInfo, payload: [UInt8]?,
        push: PushHeaders?,
        handling: Handling?
    ) {
        self.name = name
        self.sender = sender
        self.userInfo = userInfo
        self.payload = payload
        self.push = push
        self.handling = handling
    }
}

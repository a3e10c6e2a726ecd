/// What a notification is about. An app extends it with its own:
///
///     extension NotificationName {
///         static let orderShipped = NotificationName(rawValue: "orderShipped")
///     }
public struct NotificationName: RawRepresentable, Hashable, Sendable {
    /// The name as text; two names are the same where their texts are.
    public let rawValue: String

    /// A name from its text.
    public init(rawValue: String) { self.rawValue = rawValue }
}

extension NotificationName: CustomStringConvertible {
    /// The text.
    public var description: String { rawValue }
}

/// Who posts: an object that is told from others by being itself. Nobody keeps it alive.
public typealias NotificationSender = any AnyObject & Sendable

/// One notification on its way through a ``NotificationDispatcher``: what its observers are given.
public struct DispatchedNotification: Sendable {
    /// What it is about.
    public let name: NotificationName
    /// Who posted it, nil where nobody in particular did.
    public let sender: NotificationSender?
    /// What it says; for a remote notification, the values of its payload.
    public let userInfo: UserInfo
    /// The payload of a remote notification, byte for byte as the provider sent it; nil for all others.
    public let payload: [UInt8]?
    /// What a push has beside its payload; nil: it is no push, or none that the agent has handed over.
    public let push: PushHeaders?
    /// The handling that somebody waits for; nil if nobody does.
    let handling: Handling?

    /// A notification from its parts.
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

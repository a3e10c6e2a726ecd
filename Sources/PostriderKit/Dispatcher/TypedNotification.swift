/// A notification with a type of its own: its name and keys are declared in one place, and observers get typed
/// values.
///
///     struct OrderShipped: TypedNotification {
///         static let name = NotificationName(rawValue: "orderShipped")
///         private static let numberKey = "number"
///
///         let number: Int64
///         var userInfo: UserInfo { [Self.numberKey: .integer(number)] }
///
///         init(number: Int64) { self.number = number }
///         init?(userInfo: UserInfo) {
///             guard let number = userInfo[Self.numberKey]?.integer else { return nil }
///             self.number = number
///         }
///     }
///
/// It is posted under its name with its user info like any other notification. Observers of the name are called for
/// it; and typed observers are called for any notification with this name whose user info can be read.
public protocol TypedNotification: Sendable {
    /// The name under which the notification is posted.
    static var name: NotificationName { get }

    /// The values of the notification.
    var userInfo: UserInfo { get }

    /// Reads a notification from user info. Returns nil if a required value is missing.
    init?(userInfo: UserInfo)

    /// Reads a notification from an untyped one of the same name. Returns nil if a required value is missing. The
    /// default implementation reads the user info.
    init?(_ notification: DispatchedNotification)
}

extension TypedNotification {
    /// Reads the notification from the user info.
    public init?(_ notification: DispatchedNotification) { self.init(userInfo: notification.userInfo) }
}

extension DispatchedNotification {
    /// Creates the untyped form of a notification.
    public init(_ notification: some TypedNotification, sender: NotificationSender? = nil) {
        self.init(notification, sender: sender, handling: nil)
    }

    init(
        _ notification: some TypedNotification, sender: NotificationSender?, payload: [UInt8]? = nil,
        handling: Handling?
    ) {
        self.init(
            name: type(of: notification).name, sender: sender, userInfo: notification.userInfo,
            payload: payload, push: (notification as? RemoteNotificationDidArrive)?.push, handling: handling)
    }

    /// The typed form; nil if the name differs, or a required value is missing.
    public func typed<Notification: TypedNotification>(
        as type: Notification.Type = Notification.self
    ) -> Notification? {
        name == type.name ? Notification(self) : nil
    }
}

extension NotificationDispatcher {
    /// Calls `observer` with each notification of a type, until the returned observation is released or removed.
    /// Notifications whose user info cannot be read are skipped.
    public func addObserver<Notification: TypedNotification>(
        of type: Notification.Type, sender: NotificationSender? = nil, in scope: NotificationScope? = nil,
        using observer: @escaping @Sendable (Notification) -> Void
    ) -> Observation {
        addObserver(named: type.name, sender: sender, in: scope) { notification in
            if let notification = notification.typed(as: type) { observer(notification) }
        }
    }

    /// Calls the observers of a notification, typed and untyped.
    ///
    /// - Returns: why no observer was called; nil if all matching observers were called.
    @discardableResult
    public func post(_ notification: some TypedNotification, sender: NotificationSender? = nil)
        -> PostRefusal?
    {
        post(DispatchedNotification(notification, sender: sender))
    }
}

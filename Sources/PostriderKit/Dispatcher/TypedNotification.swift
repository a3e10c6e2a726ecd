/// A notification as a type of its own: name and keys are declared in one place, and observers are given values.
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
/// It is posted under its name with its user info like any other: observers of the name are called for it, and typed
/// observers are called for what others post under the name, provided that it can be read.
public protocol TypedNotification: Sendable {
    /// What it is about, and what it is posted under.
    static var name: NotificationName { get }

    /// What it says as values by name.
    var userInfo: UserInfo { get }

    /// The notification of this user info; nil where that does not say what it must.
    init?(userInfo: UserInfo)

    /// The notification of this untyped one, of the same name; nil where that does not say what it must. If a type does
    /// not declare it, the user info is all that counts.
    init?(_ notification: DispatchedNotification)
}

extension TypedNotification {
    /// The notification of the user info.
    public init?(_ notification: DispatchedNotification) { self.init(userInfo: notification.userInfo) }
}

extension DispatchedNotification {
    /// The untyped form.
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

    /// The typed form; nil where the name is another, or the user info does not say what it must.
    public func typed<Notification: TypedNotification>(
        as type: Notification.Type = Notification.self
    ) -> Notification? {
        name == type.name ? Notification(self) : nil
    }
}

extension NotificationDispatcher {
    /// Calls `observer` with each notification of a type, until what this returns is released or removed. One whose
    /// user info cannot be read is not given to it.
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
    /// - Returns: why nobody was called; nil: everybody was who had asked for it.
    @discardableResult
    public func post(_ notification: some TypedNotification, sender: NotificationSender? = nil)
        -> PostRefusal?
    {
        post(DispatchedNotification(notification, sender: sender))
    }
}

import PostriderCourier

/// Posted when the application has started, with the reason. It is the first notification of the process; the
/// notification for which it was started follows.
public struct ApplicationDidFinishLaunching: TypedNotification, Equatable {
    /// The name under which the notification is posted.
    public static let name = NotificationName.applicationDidFinishLaunching
    /// Why the process was started.
    public let reason: LaunchReason

    /// The reason as user info.
    public var userInfo: UserInfo {
        var info: UserInfo = [LaunchKey.reason: .string(reason.word)]
        switch reason {
        case .itself, .activation: break
        case .remoteNotification(let notification):
            info[LaunchKey.notification] = .dictionary(notification.userInfo)
        case .localNotification(let notification):
            info[LaunchKey.notification] = .dictionary(notification.userInfo)
        case .response(let response): info[LaunchKey.notification] = .dictionary(response.userInfo)
        }
        return info
    }

    /// Creates the notification.
    public init(reason: LaunchReason) { self.reason = reason }

    /// Returns nil if `userInfo` has no reason.
    public init?(userInfo: UserInfo) {
        let notification = userInfo[LaunchKey.notification]?.dictionary ?? [:]
        switch userInfo[LaunchKey.reason]?.string {
        case "none": reason = .itself
        case "activation": reason = .activation
        case "remote-notification":
            reason = .remoteNotification(RemoteNotificationDidArrive(userInfo: notification))
        case "local-notification":
            guard let fired = LocalNotificationDidFire(userInfo: notification) else { return nil }
            reason = .localNotification(fired)
        case "response":
            guard let response = ResponseDidArrive(userInfo: notification) else { return nil }
            reason = .response(response)
        default: return nil
        }
    }
}

/// Why an application's process was started.
public enum LaunchReason: Equatable, Sendable {
    /// Not by the agent: the app was started by hand or by another program.
    case itself
    /// The device's owner opened the app.
    case activation
    /// A push arrived for the app.
    case remoteNotification(RemoteNotificationDidArrive)
    /// A local notification of the app became due.
    case localNotification(LocalNotificationDidFire)
    /// The user responded to a notification that was shown.
    case response(ResponseDidArrive)

    init(_ reason: PostriderCourier.LaunchReason) {
        self =
            switch reason {
            case .itself: .itself
            case .activation: .activation
            case .remote(let deliver): .remoteNotification(deliver.arrival)
            case .fired(let fired): .localNotification(fired.notice.firing)
            case .responded(let responded): .response(responded.response)
            }
    }

    /// The word for the reason in user info and in `POSTRIDER_LAUNCH_REASON`.
    var word: String {
        switch self {
        case .itself: "none"
        case .activation: "activation"
        case .remoteNotification: "remote-notification"
        case .localNotification: "local-notification"
        case .response: "response"
        }
    }
}

/// Posted when the user has brought the application to the front.
public struct ApplicationDidBecomeActive: TypedNotification, Equatable {
    /// The name under which the notification is posted.
    public static let name = NotificationName.applicationDidBecomeActive
    /// Empty: the notification has no values.
    public let userInfo: UserInfo = [:]

    /// Creates the notification.
    public init() {}
    /// Creates the notification; the user info is ignored.
    public init?(userInfo: UserInfo) {}
}

/// Posted when the application goes to the background, or starts there.
public struct ApplicationDidEnterBackground: TypedNotification, Equatable {
    /// The name under which the notification is posted.
    public static let name = NotificationName.applicationDidEnterBackground
    /// Empty: the notification has no values.
    public let userInfo: UserInfo = [:]

    /// Creates the notification.
    public init() {}
    /// Creates the notification; the user info is ignored.
    public init?(userInfo: UserInfo) {}
}

/// Posted when the application has to end. It is stopped when its observers have finished, and its process then has a
/// few seconds to exit.
public struct ApplicationWillTerminate: TypedNotification, Equatable {
    /// The name under which the notification is posted.
    public static let name = NotificationName.applicationWillTerminate
    /// Empty: the notification has no values.
    public let userInfo: UserInfo = [:]

    /// Creates the notification.
    public init() {}
    /// Creates the notification; the user info is ignored.
    public init?(userInfo: UserInfo) {}
}

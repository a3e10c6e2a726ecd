import PostriderCourier

/// The application is there, and is told why. The first of all that it is told; what it was started for follows.
public struct ApplicationDidFinishLaunching: TypedNotification, Equatable {
    /// What it is posted under.
    public static let name = NotificationName.applicationDidFinishLaunching
    /// Why its process was started.
    public let reason: LaunchReason

    /// The reason as a user info.
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

    /// News of a start.
    public init(reason: LaunchReason) { self.reason = reason }

    /// Nil: there is no reason in it.
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
    /// Neither for a notification nor by the device's owner: it has started itself, or somebody has by hand.
    case itself
    /// The device's owner wants to use it.
    case activation
    /// A push has arrived for it.
    case remoteNotification(RemoteNotificationDidArrive)
    /// A local notification's moment has come.
    case localNotification(LocalNotificationDidFire)
    /// The user has done something with a notification that was shown.
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

    /// The word for it in user info, and in `POSTRIDER_LAUNCH_REASON`.
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

/// The application is what the device is used for.
public struct ApplicationDidBecomeActive: TypedNotification, Equatable {
    /// What it is posted under.
    public static let name = NotificationName.applicationDidBecomeActive
    /// Nothing.
    public let userInfo: UserInfo = [:]

    /// The news.
    public init() {}
    /// The news, whatever it says.
    public init?(userInfo: UserInfo) {}
}

/// The application goes on unseen, or begins so.
public struct ApplicationDidEnterBackground: TypedNotification, Equatable {
    /// What it is posted under.
    public static let name = NotificationName.applicationDidEnterBackground
    /// Nothing.
    public let userInfo: UserInfo = [:]

    /// The news.
    public init() {}
    /// The news, whatever it says.
    public init?(userInfo: UserInfo) {}
}

/// The application is to end. It is stopped when its observers have finished; its process then has a few seconds.
public struct ApplicationWillTerminate: TypedNotification, Equatable {
    /// What it is posted under.
    public static let name = NotificationName.applicationWillTerminate
    /// Nothing.
    public let userInfo: UserInfo = [:]

    /// The news.
    public init() {}
    /// The news, whatever it says.
    public init?(userInfo: UserInfo) {}
}

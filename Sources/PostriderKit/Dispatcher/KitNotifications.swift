public import FoundationEssentials

/// Posted when a push has arrived.
public struct RemoteNotificationDidArrive: TypedNotification, Equatable {
    /// The name under which the notification is posted.
    public static let name = NotificationName.remoteNotificationDidArrive
    /// The payload as the provider sent it.
    public let userInfo: UserInfo
    /// The headers of the push: its `apns-id`, priority, dates and others. nil if only the payload is known, which is
    /// so for a push that the user has responded to, and for one that the app itself has posted.
    public let push: PushHeaders?

    /// Creates a push from its payload.
    public init(userInfo: UserInfo) { self.init(userInfo: userInfo, push: nil) }

    /// Creates a push from its payload and its headers.
    public init(userInfo: UserInfo, push: PushHeaders?) {
        self.userInfo = userInfo
        self.push = push
    }

    /// Reads a push with its headers from a notification.
    public init?(_ notification: DispatchedNotification) {
        self.init(userInfo: notification.userInfo, push: notification.push)
    }
}

/// Posted when the application has got a device token, for the first time or a new one.
public struct DeviceTokenDidChange: TypedNotification, Equatable {
    /// The name under which the notification is posted.
    public static let name = NotificationName.deviceTokenDidChange
    /// The device token as 64 hexadecimal digits.
    public let deviceToken: String

    /// The token as user info.
    public var userInfo: UserInfo { [RegistrationKey.deviceToken: .string(deviceToken)] }

    /// Creates the notification.
    public init(deviceToken: String) { self.deviceToken = deviceToken }

    /// Returns nil if `userInfo` has no device token.
    public init?(userInfo: UserInfo) {
        guard let deviceToken = userInfo[RegistrationKey.deviceToken]?.string else { return nil }
        self.deviceToken = deviceToken
    }
}

/// Posted when the application has no device token, or none any more.
public struct RegistrationDidFail: TypedNotification, Equatable {
    /// The name under which the notification is posted.
    public static let name = NotificationName.registrationDidFail
    /// One sentence for the user.
    public let reason: String

    /// The reason as user info.
    public var userInfo: UserInfo { [RegistrationKey.reason: .string(reason)] }

    /// Creates the notification.
    public init(reason: String) { self.reason = reason }

    /// Returns nil if `userInfo` has no reason.
    public init?(userInfo: UserInfo) {
        guard let reason = userInfo[RegistrationKey.reason]?.string else { return nil }
        self.reason = reason
    }
}

/// Posted when a local notification is due.
public struct LocalNotificationDidFire: TypedNotification, Equatable {
    /// The name under which the notification is posted.
    public static let name = NotificationName.localNotificationDidFire
    /// The identifier that the app has given to the notification.
    public let identifier: String
    /// The content of the notification.
    public let content: NotificationContent
    /// When the notification was due. This is in the past if the device was off at that time.
    public let date: Date

    /// The notification as user info.
    public var userInfo: UserInfo {
        var info = content.asUserInfo
        info[UserNotificationKey.identifier] = .string(identifier)
        info[UserNotificationKey.date] = .double(date.timeIntervalSince1970)
        return info
    }

    /// Creates the notification.
    public init(identifier: String, content: NotificationContent, date: Date) {
        self.identifier = identifier
        self.content = content
        self.date = date
    }

    /// Returns nil if `userInfo` has no identifier or no date.
    public init?(userInfo: UserInfo) {
        guard let identifier = userInfo[UserNotificationKey.identifier]?.string,
            let seconds = userInfo[UserNotificationKey.date]?.double
        else { return nil }
        self.init(
            identifier: identifier, content: NotificationContent(from: userInfo),
            date: Date(timeIntervalSince1970: seconds))
    }
}

/// Posted when the user has responded to a notification that was shown.
public struct ResponseDidArrive: TypedNotification, Equatable {
    /// The name under which the notification is posted.
    public static let name = NotificationName.responseDidArrive

    /// The action identifier if the user has chosen the notification itself and not one of its actions.
    public static let defaultActionIdentifier = "postrider.default"
    /// The action identifier if the user has dismissed the notification.
    public static let dismissActionIdentifier = "postrider.dismiss"
    /// The action identifier if the user asks for the app's own notification settings.
    public static let settingsActionIdentifier = "postrider.settings"

    /// The notification that a user responds to.
    public enum Subject: Equatable, Sendable {
        /// A local notification.
        case local(LocalNotificationDidFire)
        /// A push.
        case remote(RemoteNotificationDidArrive)
    }

    /// The notification that the user has responded to.
    public let subject: Subject
    /// The response: the identifier of one of the app's actions, or one of the identifiers above.
    public let actionIdentifier: String
    /// The text that the user has entered; nil if the action asks for none.
    public let userText: String?
    /// The identifier under which a push is listed as delivered; nil for a local notification, or if the agent does
    /// not report it.
    public let identifier: String?
    /// When a push arrived; nil for a local notification, or if the agent does not report it.
    public let date: Date?

    /// The response as user info.
    public var userInfo: UserInfo {
        var info: UserInfo
        switch subject {
        case .local(let notification): info = notification.userInfo
        case .remote(let notification):
            info = [UserNotificationKey.payload: .dictionary(notification.userInfo)]
            info[UserNotificationKey.identifier] = identifier.map { .string($0) }
            info[UserNotificationKey.date] = date.map { .double($0.timeIntervalSince1970) }
        }
        info[UserNotificationKey.action] = .string(actionIdentifier)
        info[UserNotificationKey.text] = userText.map { .string($0) }
        return info
    }

    /// Creates the notification.
    public init(
        to subject: Subject, actionIdentifier: String, userText: String? = nil, identifier: String? = nil,
        date: Date? = nil
    ) {
        self.identifier = identifier
        self.date = date
        self.subject = subject
        self.actionIdentifier = actionIdentifier
        self.userText = userText
    }

    /// Returns nil if `userInfo` has no action, or no notification.
    public init?(userInfo: UserInfo) {
        guard let action = userInfo[UserNotificationKey.action]?.string else { return nil }
        if let payload = userInfo[UserNotificationKey.payload]?.dictionary {
            subject = .remote(RemoteNotificationDidArrive(userInfo: payload))
            identifier = userInfo[UserNotificationKey.identifier]?.string
            date = userInfo[UserNotificationKey.date]?.double.map { Date(timeIntervalSince1970: $0) }
        } else if let notification = LocalNotificationDidFire(userInfo: userInfo) {
            subject = .local(notification)
            (identifier, date) = (nil, nil)
        } else {
            return nil
        }
        actionIdentifier = action
        userText = userInfo[UserNotificationKey.text]?.string
    }
}

/// Posted when the owner of the device has decided whether the application may notify.
public struct AuthorizationDidChange: TypedNotification, Equatable {
    /// The name under which the notification is posted.
    public static let name = NotificationName.authorizationDidChange
    /// The status from now on.
    public let status: AuthorizationStatus

    /// The status as user info.
    public var userInfo: UserInfo {
        [UserNotificationKey.authorizationStatus: .integer(Int64(status.rawValue))]
    }

    /// Creates the notification.
    public init(status: AuthorizationStatus) { self.status = status }

    /// Returns nil if `userInfo` has no status.
    public init?(userInfo: UserInfo) {
        guard let number = userInfo[UserNotificationKey.authorizationStatus]?.integer,
            let status = Int(exactly: number).flatMap(AuthorizationStatus.init(rawValue:))
        else { return nil }
        self.status = status
    }
}

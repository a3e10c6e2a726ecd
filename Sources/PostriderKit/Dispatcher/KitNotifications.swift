public import FoundationEssentials

/// A push has arrived.
public struct RemoteNotificationDidArrive: TypedNotification, Equatable {
    /// What it is posted under.
    public static let name = NotificationName.remoteNotificationDidArrive
    /// The payload as the provider wrote it.
    public let userInfo: UserInfo
    /// What it has beside its payload: its `apns-id`, priority, dates and others. Nil if only the payload is known: of
    /// a push that the user has responded to, and of one that the app itself has posted.
    public let push: PushHeaders?

    /// A push from its payload.
    public init(userInfo: UserInfo) { self.init(userInfo: userInfo, push: nil) }

    /// A push from its payload and what it has beside.
    public init(userInfo: UserInfo, push: PushHeaders?) {
        self.userInfo = userInfo
        self.push = push
    }

    /// A push with what it has beside its payload.
    public init?(_ notification: DispatchedNotification) {
        self.init(userInfo: notification.userInfo, push: notification.push)
    }
}

/// The application has a device token, for the first time or a new one.
public struct DeviceTokenDidChange: TypedNotification, Equatable {
    /// What it is posted under.
    public static let name = NotificationName.deviceTokenDidChange
    /// 64 hexadecimal digits.
    public let deviceToken: String

    /// The token as a user info.
    public var userInfo: UserInfo { [RegistrationKey.deviceToken: .string(deviceToken)] }

    /// News of a token.
    public init(deviceToken: String) { self.deviceToken = deviceToken }

    /// Nil: there is no token in it.
    public init?(userInfo: UserInfo) {
        guard let deviceToken = userInfo[RegistrationKey.deviceToken]?.string else { return nil }
        self.deviceToken = deviceToken
    }
}

/// The application has no device token, or none any more.
public struct RegistrationDidFail: TypedNotification, Equatable {
    /// What it is posted under.
    public static let name = NotificationName.registrationDidFail
    /// One sentence for a person.
    public let reason: String

    /// The reason as a user info.
    public var userInfo: UserInfo { [RegistrationKey.reason: .string(reason)] }

    /// News of a failure.
    public init(reason: String) { self.reason = reason }

    /// Nil: there is no reason in it.
    public init?(userInfo: UserInfo) {
        guard let reason = userInfo[RegistrationKey.reason]?.string else { return nil }
        self.reason = reason
    }
}

/// The moment of a local notification has come.
public struct LocalNotificationDidFire: TypedNotification, Equatable {
    /// What it is posted under.
    public static let name = NotificationName.localNotificationDidFire
    /// What the app has called it.
    public let identifier: String
    /// What it shows and tells.
    public let content: NotificationContent
    /// When it was due; the past, where the device was off then.
    public let date: Date

    /// The notification as a user info.
    public var userInfo: UserInfo {
        var info = content.asUserInfo
        info[UserNotificationKey.identifier] = .string(identifier)
        info[UserNotificationKey.date] = .double(date.timeIntervalSince1970)
        return info
    }

    /// News of a notification.
    public init(identifier: String, content: NotificationContent, date: Date) {
        self.identifier = identifier
        self.content = content
        self.date = date
    }

    /// Nil: there is no identifier or no date in it.
    public init?(userInfo: UserInfo) {
        guard let identifier = userInfo[UserNotificationKey.identifier]?.string,
            let seconds = userInfo[UserNotificationKey.date]?.double
        else { return nil }
        self.init(
            identifier: identifier, content: NotificationContent(from: userInfo),
            date: Date(timeIntervalSince1970: seconds))
    }
}

/// The user has done something with a notification that was shown.
public struct ResponseDidArrive: TypedNotification, Equatable {
    /// What it is posted under.
    public static let name = NotificationName.responseDidArrive

    /// The user has chosen the notification itself, not one of its actions.
    public static let defaultActionIdentifier = "postrider.default"
    /// The user has put the notification away.
    public static let dismissActionIdentifier = "postrider.dismiss"
    /// The user asks for the app's own settings of its notifications.
    public static let settingsActionIdentifier = "postrider.settings"

    /// What a user responds to.
    public enum Subject: Equatable, Sendable {
        /// A local notification.
        case local(LocalNotificationDidFire)
        /// A push.
        case remote(RemoteNotificationDidArrive)
    }

    /// What the user has responded to.
    public let subject: Subject
    /// What the user has done: the identifier of one of the app's actions, or one of those above.
    public let actionIdentifier: String
    /// What the user has written, where the action asks for it.
    public let userText: String?
    /// Under which identifier a push is listed as delivered; nil for a local notification, or if the agent does not
    /// say.
    public let identifier: String?
    /// When a push arrived; nil for a local notification, or if the agent does not say.
    public let date: Date?

    /// The response as a user info.
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

    /// News of a response.
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

    /// Nil: there is no action in it, or nothing that it is about.
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

/// The owner of the device has decided whether the application may notify.
public struct AuthorizationDidChange: TypedNotification, Equatable {
    /// What it is posted under.
    public static let name = NotificationName.authorizationDidChange
    /// What holds from now on.
    public let status: AuthorizationStatus

    /// The status as a user info.
    public var userInfo: UserInfo {
        [UserNotificationKey.authorizationStatus: .integer(Int64(status.rawValue))]
    }

    /// News of a decision.
    public init(status: AuthorizationStatus) { self.status = status }

    /// Nil: there is no status in it.
    public init?(userInfo: UserInfo) {
        guard let number = userInfo[UserNotificationKey.authorizationStatus]?.integer,
            let status = Int(exactly: number).flatMap(AuthorizationStatus.init(rawValue:))
        else { return nil }
        self.status = status
    }
}

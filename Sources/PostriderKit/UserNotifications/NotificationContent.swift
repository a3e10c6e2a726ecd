/// The content of a local notification, like `UNMutableNotificationContent`.
public struct NotificationContent: Hashable, Sendable {
    /// The first line.
    public var title = ""
    /// The second line.
    public var subtitle = ""
    /// The body.
    public var body = ""
    /// The number on the app's icon: 0 removes it, nil leaves it unchanged.
    public var badge: Int?
    /// The sound; nil for none.
    public var sound: NotificationSound?
    /// The app's own values.
    public var userInfo: UserInfo = [:]
    /// The identifier of the category, which is one of the app's and defines the actions.
    public var categoryIdentifier = ""
    /// Notifications with the same thread identifier are shown together if the desktop supports that.
    public var threadIdentifier = ""
    /// How much the notification may disturb the user.
    public var interruptionLevel = NotificationInterruptionLevel.active
    /// The importance among the app's notifications, from 0 to 1. No desktop reads it.
    public var relevanceScore = 0.0

    /// Creates empty content.
    public init() {}
}

/// How much a notification may disturb the user. The raw values are those of Apple's
/// `UNNotificationInterruptionLevel`.
public enum NotificationInterruptionLevel: Int, CaseIterable, Sendable {
    /// The notification is shown without a sound (urgency low on desktops).
    case passive = 0
    /// The notification is shown with its sound (urgency normal).
    case active = 1
    /// The notification is shown at once (urgency normal).
    case timeSensitive = 2
    /// The notification stays until the user has seen it (urgency critical). This needs
    /// ``AuthorizationOptions/criticalAlert``; without it, the level is treated as ``timeSensitive``.
    case critical = 3
}

/// The name of a sound.
public struct NotificationSoundName: RawRepresentable, Hashable, Sendable {
    /// The name.
    public let rawValue: String
    /// Creates a name.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// Creates a name.
    public init(_ rawValue: String) { self.rawValue = rawValue }
}

/// The sound of a notification.
public struct NotificationSound: Hashable, Sendable {
    /// The name of the sound.
    public let name: String

    /// The device's default sound for notifications.
    public static let `default` = NotificationSound(named: "default")

    /// Creates a sound with this name.
    public init(named name: String) { self.name = name }

    /// Creates a sound with this name.
    public init(named name: NotificationSoundName) { self.name = name.rawValue }
}

extension NotificationContent {
    /// The content as user info with the documented keys. Values that are not set are missing.
    var asUserInfo: UserInfo {
        var info: UserInfo = [:]
        let texts = [
            (UserNotificationKey.title, title), (UserNotificationKey.subtitle, subtitle),
            (UserNotificationKey.body, body), (UserNotificationKey.sound, sound?.name ?? ""),
            (UserNotificationKey.category, categoryIdentifier),
            (UserNotificationKey.thread, threadIdentifier),
        ]
        for (key, text) in texts where !text.isEmpty { info[key] = .string(text) }
        info[UserNotificationKey.badge] = badge.map { .integer(Int64($0)) }
        if interruptionLevel != .active {
            info[UserNotificationKey.interruptionLevel] = .integer(Int64(interruptionLevel.rawValue))
        }
        if relevanceScore != 0 { info[UserNotificationKey.relevanceScore] = .double(relevanceScore) }
        if !userInfo.isEmpty { info[UserNotificationKey.userInfo] = .dictionary(userInfo) }
        return info
    }

    /// Reads content from user info with the documented keys.
    init(from info: UserInfo) {
        title = info[UserNotificationKey.title]?.string ?? ""
        subtitle = info[UserNotificationKey.subtitle]?.string ?? ""
        body = info[UserNotificationKey.body]?.string ?? ""
        badge = info[UserNotificationKey.badge]?.integer.flatMap { Int(exactly: $0) }
        sound = info[UserNotificationKey.sound]?.string.map { NotificationSound(named: $0) }
        userInfo = info[UserNotificationKey.userInfo]?.dictionary ?? [:]
        categoryIdentifier = info[UserNotificationKey.category]?.string ?? ""
        threadIdentifier = info[UserNotificationKey.thread]?.string ?? ""
        interruptionLevel =
            info[UserNotificationKey.interruptionLevel]?.integer.flatMap { Int(exactly: $0) }
            .flatMap(NotificationInterruptionLevel.init(rawValue:)) ?? .active
        relevanceScore = info[UserNotificationKey.relevanceScore]?.double ?? 0
    }
}

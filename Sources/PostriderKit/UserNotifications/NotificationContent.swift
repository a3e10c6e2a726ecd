/// What a local notification shows and tells, in the manner of `UNMutableNotificationContent`.
public struct NotificationContent: Hashable, Sendable {
    /// The first line.
    public var title = ""
    /// The second line.
    public var subtitle = ""
    /// The text.
    public var body = ""
    /// The number on the app's icon: 0 removes it, nil leaves it.
    public var badge: Int?
    /// What is heard; nil: nothing.
    public var sound: NotificationSound?
    /// The app's own values.
    public var userInfo: UserInfo = [:]
    /// Which of the app's categories it is of: what the user can do with it.
    public var categoryIdentifier = ""
    /// What it is shown together with, where the desktop can do that.
    public var threadIdentifier = ""
    /// How much it may disturb.
    public var interruptionLevel = NotificationInterruptionLevel.active
    /// Which of the app's notifications matters most, from 0 to 1. No desktop reads it.
    public var relevanceScore = 0.0

    /// A content that shows nothing.
    public init() {}
}

/// How much a notification may disturb. Numbers as Apple's `UNNotificationInterruptionLevel`.
public enum NotificationInterruptionLevel: Int, CaseIterable, Sendable {
    /// It is shown without a sound (urgency low on desktops).
    case passive = 0
    /// It is shown with its sound (urgency normal).
    case active = 1
    /// It is shown at once (urgency normal).
    case timeSensitive = 2
    /// It stays until the user has seen it (urgency critical). Only where ``AuthorizationOptions/criticalAlert`` is
    /// granted; else it is as ``timeSensitive``.
    case critical = 3
}

/// The name of a sound.
public struct NotificationSoundName: RawRepresentable, Hashable, Sendable {
    /// The name.
    public let rawValue: String
    /// A name.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// A name.
    public init(_ rawValue: String) { self.rawValue = rawValue }
}

/// What is heard with a notification.
public struct NotificationSound: Hashable, Sendable {
    /// The name of the sound.
    public let name: String

    /// The sound that the device has for notifications.
    public static let `default` = NotificationSound(named: "default")

    /// A sound of this name.
    public init(named name: String) { self.name = name }

    /// A sound of this name.
    public init(named name: NotificationSoundName) { self.name = name.rawValue }
}

extension NotificationContent {
    /// The content under its documented names; what is not there is left out.
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

    /// A content from its documented names.
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

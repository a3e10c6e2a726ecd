import PostriderCourier

/// The decision of the device's owner about an app's notifications. The raw values are those of Apple's
/// `UNAuthorizationStatus`.
public enum AuthorizationStatus: Int, Sendable {
    /// The owner has not decided yet.
    case notDetermined = 0
    /// The app may not notify.
    case denied = 1
    /// The app may notify.
    case authorized = 2
    /// The app may notify quietly until the owner has decided, because it asked with
    /// ``AuthorizationOptions/provisional``.
    case provisional = 3
    /// The status of App Clips on iOS. No app of Postrider has it.
    case ephemeral = 4

    init(_ status: PostriderCourier.AuthorizationStatus) {
        self =
            switch status {
            case .notDetermined: .notDetermined
            case .denied: .denied
            case .authorized: .authorized
            case .provisional: .provisional
            }
    }

    /// Whether the app may notify at all.
    var isGranted: Bool { self == .authorized || self == .provisional }
}

/// The permissions that an app asks for. The raw values are those of Apple's `UNAuthorizationOptions`. A request
/// without ``badge``, ``sound``, ``alert`` and ``criticalAlert`` asks for all four. Permissions of earlier requests
/// remain requested.
public struct AuthorizationOptions: OptionSet, Hashable, Sendable {
    /// The bits of the set.
    public let rawValue: UInt32
    /// Creates a set from its bits.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// Permission to set the number on the app's icon.
    public static let badge = AuthorizationOptions(rawValue: 1)
    /// Permission to play sounds.
    public static let sound = AuthorizationOptions(rawValue: 2)
    /// Permission to show alerts.
    public static let alert = AuthorizationOptions(rawValue: 4)
    /// Permission to show alerts that stay until the user has seen them.
    public static let criticalAlert = AuthorizationOptions(rawValue: 16)
    /// A button *Settings* on the app's notifications, which calls `userNotificationCenter(_:openSettingsFor:)`.
    public static let providesAppNotificationSettings = AuthorizationOptions(rawValue: 32)
    /// Permission to notify quietly, without waiting for the owner to decide.
    public static let provisional = AuthorizationOptions(rawValue: 64)
}

/// Whether an app has a permission. The raw values are those of Apple's `UNNotificationSetting`.
public enum NotificationSetting: Int, Sendable {
    /// The app has not asked for it.
    case notSupported = 0
    /// The app has asked for it, and the owner of the device has not granted it.
    case disabled = 1
    /// The app has it.
    case enabled = 2
}

/// How alerts are shown. The raw values are those of Apple's `UNAlertStyle`.
public enum AlertStyle: Int, Sendable {
    /// Alerts are not shown.
    case none = 0
    /// The desktop shows alerts for a time that it decides.
    case banner = 1
    /// Alerts stay. No desktop reports that it does this to all alerts.
    case alert = 2
}

/// The permissions of an app, like `UNNotificationSettings`.
public struct NotificationSettings: Hashable, Sendable {
    /// The decision of the device's owner.
    public let authorizationStatus: AuthorizationStatus
    /// Whether the app may set the number on its icon.
    public let badgeSetting: NotificationSetting
    /// Whether the app may play sounds.
    public let soundSetting: NotificationSetting
    /// Whether the app may show alerts.
    public let alertSetting: NotificationSetting
    /// Whether the app may show alerts that stay until the user has seen them.
    public let criticalAlertSetting: NotificationSetting
    /// Whether notifications have a button that opens the app's own settings.
    public let providesAppNotificationSettings: Bool
    /// The number on the app's icon, as the agent keeps it; 0 for none.
    public let badgeCount: Int

    /// Whether notifications appear in the desktop's list. The desktop decides, so this equals ``alertSetting``.
    public var notificationCenterSetting: NotificationSetting { alertSetting }
    /// Whether notifications appear on the locked screen. The desktop decides, so this equals ``alertSetting``.
    public var lockScreenSetting: NotificationSetting { alertSetting }
    /// Whether alerts may be shown at once. This equals ``alertSetting``.
    public var timeSensitiveSetting: NotificationSetting { alertSetting }
    /// How alerts are shown.
    public var alertStyle: AlertStyle { alertSetting == .enabled ? .banner : .none }

    init(_ settings: CenterSettings) {
        func setting(_ option: NotificationOptions) -> NotificationSetting {
            guard settings.asked.contains(option) else { return .notSupported }
            return settings.granted.contains(option) ? .enabled : .disabled
        }
        authorizationStatus = AuthorizationStatus(settings.status)
        badgeSetting = setting(.badge)
        soundSetting = setting(.sound)
        alertSetting = setting(.alert)
        criticalAlertSetting = setting(.criticalAlert)
        providesAppNotificationSettings = settings.granted.contains(.providesSettings)
        badgeCount = Int(settings.badge)
    }

    /// Reads the agent's answers; if there are none, no permission is granted.
    init(_ answers: [CenterAnswer.Content]) {
        let settings = answers.lazy.compactMap { answer in
            switch answer {
            case .settings(let settings): settings
            case .authorization(let status): Self.settings(status)
            default: nil as CenterSettings?
            }
        }
        self.init(settings.first ?? Self.settings(.notDetermined))
    }

    /// The settings if only the status is known: an agent of an earlier version grants an app either all or nothing.
    private static func settings(_ status: PostriderCourier.AuthorizationStatus) -> CenterSettings {
        let asked: NotificationOptions = status == .notDetermined ? [] : .unnamed
        return CenterSettings(
            status: status, asked: asked, granted: status.allowsNotifications ? asked : [], badge: 0)
    }
}

extension NotificationInterruptionLevel {
    init(_ level: PostriderCourier.InterruptionLevel) {
        self =
            switch level {
            case .passive: .passive
            case .active: .active
            case .timeSensitive: .timeSensitive
            case .critical: .critical
            }
    }
}

extension PostriderCourier.InterruptionLevel {
    init(_ level: NotificationInterruptionLevel) {
        self =
            switch level {
            case .passive: .passive
            case .active: .active
            case .timeSensitive: .timeSensitive
            case .critical: .critical
            }
    }
}

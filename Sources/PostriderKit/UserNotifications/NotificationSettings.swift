import PostriderCourier

/// What the owner of the device has said about an app's notifications. Numbers as Apple's `UNAuthorizationStatus`.
public enum AuthorizationStatus: Int, Sendable {
    /// Nothing yet.
    case notDetermined = 0
    /// The app may not notify.
    case denied = 1
    /// The app may notify.
    case authorized = 2
    /// The app may notify quietly, until the owner has decided: it asked with ``AuthorizationOptions/provisional``.
    case provisional = 3
    /// App Clips have this on iOS; here no app has.
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

/// What an app wants to be allowed. Numbers as Apple's `UNAuthorizationOptions`. One that names none of ``badge``,
/// ``sound``, ``alert`` and ``criticalAlert`` is taken to want them all. What it has asked for once counts also when it
/// asks for something else later.
public struct AuthorizationOptions: OptionSet, Hashable, Sendable {
    /// The bits.
    public let rawValue: UInt32
    /// Options from bits.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// Numbers on the app's icon.
    public static let badge = AuthorizationOptions(rawValue: 1)
    /// Sounds.
    public static let sound = AuthorizationOptions(rawValue: 2)
    /// Alerts.
    public static let alert = AuthorizationOptions(rawValue: 4)
    /// Alerts that stay until the user has seen them.
    public static let criticalAlert = AuthorizationOptions(rawValue: 16)
    /// A button *Settings* on the app's notifications: `userNotificationCenter(_:openSettingsFor:)`.
    public static let providesAppNotificationSettings = AuthorizationOptions(rawValue: 32)
    /// To notify quietly, without waiting for the owner to decide.
    public static let provisional = AuthorizationOptions(rawValue: 64)
}

/// Whether an app has something. Numbers as Apple's `UNNotificationSetting`.
public enum NotificationSetting: Int, Sendable {
    /// It has not asked for it.
    case notSupported = 0
    /// It has asked for it, and the owner of the device does not grant it.
    case disabled = 1
    /// It has it.
    case enabled = 2
}

/// How alerts are shown. Numbers as Apple's `UNAlertStyle`.
public enum AlertStyle: Int, Sendable {
    /// They are not.
    case none = 0
    /// The desktop shows them for as long as it likes.
    case banner = 1
    /// They stay; no desktop says that it does this to all.
    case alert = 2
}

/// What an app may do, in the manner of `UNNotificationSettings`.
public struct NotificationSettings: Hashable, Sendable {
    /// What the owner of the device has decided.
    public let authorizationStatus: AuthorizationStatus
    /// Numbers on the app's icon.
    public let badgeSetting: NotificationSetting
    /// Sounds.
    public let soundSetting: NotificationSetting
    /// Alerts.
    public let alertSetting: NotificationSetting
    /// Alerts that stay until the user has seen them.
    public let criticalAlertSetting: NotificationSetting
    /// Whether notifications have a button that leads to the app's own settings.
    public let providesAppNotificationSettings: Bool
    /// The number on the app's icon, as the agent keeps it; 0: there is none.
    public let badgeCount: Int

    /// The desktop's list: as ``alertSetting``, the desktop decides.
    public var notificationCenterSetting: NotificationSetting { alertSetting }
    /// The locked screen: as ``alertSetting``, the desktop decides.
    public var lockScreenSetting: NotificationSetting { alertSetting }
    /// Alerts that are shown at once: as ``alertSetting``.
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

    /// What the agent has answered; nothing, where it has not.
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

    /// What can be said where only the status is known: an agent of an earlier version lets an app do all or nothing.
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

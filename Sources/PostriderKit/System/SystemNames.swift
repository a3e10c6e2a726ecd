// What happens to the device, by name. The sender is the ``Application`` whose agent tells it.
// SystemNotifications.swift and KeyboardNotifications.swift have each as a type.
//
// Nothing of this is kept for an observer whose scope is off or for an app that does not run. An app that attaches is
// told what holds then, and any part of it can ask: Application+State.swift.
extension NotificationName {
    /// What the names of all of them begin with.
    static let systemPrefix = "postrider.system."

    /// Whether it is the name of something that happens to the device, which its agent alone tells.
    public var isSystems: Bool { rawValue.hasPrefix(Self.systemPrefix) }

    private static func system(_ name: String) -> NotificationName {
        NotificationName(rawValue: systemPrefix + name)
    }

    /// The agent tries to reach the relay. User info: ``RelayLinkKey/relay``.
    public static let relayLinkWillConnect = system("relayLinkWillConnect")
    /// The device can be pushed to. User info: ``RelayLinkKey/relay``.
    public static let relayLinkDidConnect = system("relayLinkDidConnect")
    /// The link that was up is about to go, or was just found gone. User info: ``RelayLinkKey/relay``,
    /// ``RelayLinkKey/reason``.
    public static let relayLinkWillDisconnect = system("relayLinkWillDisconnect")
    /// The link is gone, or an attempt has failed. User info: ``RelayLinkKey``.
    public static let relayLinkDidDisconnect = system("relayLinkDidDisconnect")

    /// The device goes to sleep when the observers of all apps have finished, or four seconds have gone by.
    public static let deviceWillSleep = system("deviceWillSleep")
    /// The device is awake, or was kept from sleeping after all.
    public static let deviceDidWake = system("deviceDidWake")

    /// The clock was set. User info: ``SystemClockKey/shift``.
    public static let systemClockDidChange = system("clockDidChange")
    /// The device is in another time zone. User info: ``SystemClockKey/timeZone``.
    public static let systemTimeZoneDidChange = system("timeZoneDidChange")

    /// The keyboard on screen begins to have another frame: told before ``keyboardWillShow`` and ``keyboardWillHide``.
    /// User info of these six: ``KeyboardKey``.
    public static let keyboardWillChangeFrame = system("keyboardWillChangeFrame")
    /// It has its new frame: told before ``keyboardDidShow`` and ``keyboardDidHide``.
    public static let keyboardDidChangeFrame = system("keyboardDidChangeFrame")
    /// It begins to come.
    public static let keyboardWillShow = system("keyboardWillShow")
    /// It is there.
    public static let keyboardDidShow = system("keyboardDidShow")
    /// It begins to go.
    public static let keyboardWillHide = system("keyboardWillHide")
    /// It is gone.
    public static let keyboardDidHide = system("keyboardDidHide")
}

/// The names of what the link to the relay tells in its user info.
public enum RelayLinkKey {
    /// A text: the relay's host and port.
    public static let relay = "relay"
    /// A text: why the link is gone, one phrase.
    public static let reason = "reason"
    /// A number: when it is tried again, in seconds since 1970; left out where it is not.
    public static let nextAttempt = "nextAttempt"
}

/// The names of what clock and time zone tell in their user info.
public enum SystemClockKey {
    /// A number: seconds by which the clock was set forward, negative where it was set back.
    public static let shift = "shift"
    /// A text: the zone that the device is in now, such as `Europe/Berlin`.
    public static let timeZone = "timeZone"
}

/// The names of what the keyboard tells in its user info.
public enum KeyboardKey {
    /// Values by name: the frame before, whole numbers `x`, `y`, `width` and `height`, in points from the upper left
    /// corner of the screen. A keyboard that comes does so from below, by its own height.
    public static let frameBegin = "frameBegin"
    /// Likewise: the frame afterwards. A keyboard that goes does so downwards, by its own height.
    public static let frameEnd = "frameEnd"
    /// A number: seconds that it moves.
    public static let animationDuration = "animationDuration"
    /// A number: a ``KeyboardMovement/Curve``.
    public static let animationCurve = "animationCurve"
}

/// Why a post has called nobody.
public struct PostRefusal: Error, Equatable, CustomStringConvertible {
    /// The name that was to be posted.
    public let name: NotificationName

    init(of name: NotificationName) { self.name = name }

    /// One sentence.
    public var description: String {
        "\(name) is the system's, and posted by the device's agent alone: post under a name of your own."
    }
}

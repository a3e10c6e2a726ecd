// The names of notifications about the device. Their sender is the ``Application`` whose agent reports them.
// SystemNotifications.swift and KeyboardNotifications.swift have a type for each.
//
// None of them is kept for an observer whose scope is off, or for an app that does not run. An app that attaches gets
// the current state, which it can also read at any time: Application+State.swift.
extension NotificationName {
    /// The prefix of all of these names.
    static let systemPrefix = "postrider.system."

    /// Whether this is the name of an event of the device, which only the agent may post.
    public var isSystems: Bool { rawValue.hasPrefix(Self.systemPrefix) }

    private static func system(_ name: String) -> NotificationName {
        NotificationName(rawValue: systemPrefix + name)
    }

    /// Posted when the agent tries to reach the relay. User info: ``RelayLinkKey/relay``.
    public static let relayLinkWillConnect = system("relayLinkWillConnect")
    /// Posted when the device is connected to the relay and receives pushes. User info: ``RelayLinkKey/relay``.
    public static let relayLinkDidConnect = system("relayLinkDidConnect")
    /// Posted when the connection to the relay is about to end, or was just found broken. User info:
    /// ``RelayLinkKey/relay``, ``RelayLinkKey/reason``.
    public static let relayLinkWillDisconnect = system("relayLinkWillDisconnect")
    /// Posted when the connection to the relay has ended, or an attempt has failed. User info: ``RelayLinkKey``.
    public static let relayLinkDidDisconnect = system("relayLinkDidDisconnect")

    /// Posted before the device sleeps, which it does when the observers of all apps have finished, or after four
    /// seconds.
    public static let deviceWillSleep = system("deviceWillSleep")
    /// Posted when the device has woken, or did not sleep after all.
    public static let deviceDidWake = system("deviceDidWake")

    /// Posted when the clock was set. User info: ``SystemClockKey/shift``.
    public static let systemClockDidChange = system("clockDidChange")
    /// Posted when the time zone has changed. User info: ``SystemClockKey/timeZone``.
    public static let systemTimeZoneDidChange = system("timeZoneDidChange")

    /// Posted when the keyboard's frame starts to change, before ``keyboardWillShow`` and ``keyboardWillHide``. User
    /// info of all six keyboard notifications: ``KeyboardKey``.
    public static let keyboardWillChangeFrame = system("keyboardWillChangeFrame")
    /// Posted when the keyboard's frame has changed, before ``keyboardDidShow`` and ``keyboardDidHide``.
    public static let keyboardDidChangeFrame = system("keyboardDidChangeFrame")
    /// Posted when the keyboard starts to appear.
    public static let keyboardWillShow = system("keyboardWillShow")
    /// Posted when the keyboard has appeared.
    public static let keyboardDidShow = system("keyboardDidShow")
    /// Posted when the keyboard starts to disappear.
    public static let keyboardWillHide = system("keyboardWillHide")
    /// Posted when the keyboard has disappeared.
    public static let keyboardDidHide = system("keyboardDidHide")
}

/// The keys in the user info of notifications about the connection to the relay.
public enum RelayLinkKey {
    /// A text: the relay's host and port.
    public static let relay = "relay"
    /// A text: why the connection ended, as a phrase.
    public static let reason = "reason"
    /// A number: when the next attempt starts, in seconds since 1970; missing if there is none.
    public static let nextAttempt = "nextAttempt"
}

/// The keys in the user info of notifications about clock and time zone.
public enum SystemClockKey {
    /// A number: seconds by which the clock was set forward; negative if it was set back.
    public static let shift = "shift"
    /// A text: the present time zone of the device, such as `Europe/Berlin`.
    public static let timeZone = "timeZone"
}

/// The keys in the user info of notifications about the keyboard.
public enum KeyboardKey {
    /// A dictionary: the frame before the movement, with the whole numbers `x`, `y`, `width` and `height`, in points
    /// from the upper left corner of the screen. A keyboard that appears moves up by its own height.
    public static let frameBegin = "frameBegin"
    /// A dictionary: the frame after the movement, in the same form. A keyboard that disappears moves down by its own
    /// height.
    public static let frameEnd = "frameEnd"
    /// A number: the duration of the movement in seconds.
    public static let animationDuration = "animationDuration"
    /// A number: a ``KeyboardMovement/Curve``.
    public static let animationCurve = "animationCurve"
}

/// Why a post has called no observer.
public struct PostRefusal: Error, Equatable, CustomStringConvertible {
    /// The name that was posted.
    public let name: NotificationName

    init(of name: NotificationName) { self.name = name }

    /// A sentence that describes the refusal.
    public var description: String {
        "\(name) is the system's, and posted by the device's agent alone: post under a name of your own."
    }
}

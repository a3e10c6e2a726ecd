public import FoundationEssentials

/// Posted when the agent tries to reach the relay.
public struct RelayLinkWillConnect: TypedNotification, Equatable {
    /// The name under which the notification is posted.
    public static let name = NotificationName.relayLinkWillConnect
    /// The relay's host and port.
    public let relay: String

    /// The relay as user info.
    public var userInfo: UserInfo { [RelayLinkKey.relay: .string(relay)] }

    /// Creates the notification.
    public init(relay: String) { self.relay = relay }

    /// Returns nil if `userInfo` has no relay.
    public init?(userInfo: UserInfo) {
        guard let relay = userInfo[RelayLinkKey.relay]?.string else { return nil }
        self.relay = relay
    }
}

/// Posted when the device is connected to the relay and receives pushes.
public struct RelayLinkDidConnect: TypedNotification, Equatable {
    /// The name under which the notification is posted.
    public static let name = NotificationName.relayLinkDidConnect
    /// The relay's host and port.
    public let relay: String

    /// The relay as user info.
    public var userInfo: UserInfo { [RelayLinkKey.relay: .string(relay)] }

    /// Creates the notification.
    public init(relay: String) { self.relay = relay }

    /// Returns nil if `userInfo` has no relay.
    public init?(userInfo: UserInfo) {
        guard let relay = userInfo[RelayLinkKey.relay]?.string else { return nil }
        self.relay = relay
    }
}

/// Posted when the connection to the relay is about to end, or was just found broken.
public struct RelayLinkWillDisconnect: TypedNotification, Equatable {
    /// The name under which the notification is posted.
    public static let name = NotificationName.relayLinkWillDisconnect
    /// The relay's host and port.
    public let relay: String
    /// Why the connection ends, as a phrase.
    public let reason: String

    /// The relay and the reason as user info.
    public var userInfo: UserInfo {
        [RelayLinkKey.relay: .string(relay), RelayLinkKey.reason: .string(reason)]
    }

    /// Creates the notification.
    public init(relay: String, reason: String) {
        self.relay = relay
        self.reason = reason
    }

    /// Returns nil if `userInfo` has no relay or no reason.
    public init?(userInfo: UserInfo) {
        guard let relay = userInfo[RelayLinkKey.relay]?.string,
            let reason = userInfo[RelayLinkKey.reason]?.string
        else { return nil }
        self.init(relay: relay, reason: reason)
    }
}

/// Posted when the connection to the relay has ended, or an attempt has failed.
public struct RelayLinkDidDisconnect: TypedNotification, Equatable {
    /// The name under which the notification is posted.
    public static let name = NotificationName.relayLinkDidDisconnect
    /// The relay's host and port.
    public let relay: String
    /// Why the connection has ended, as a phrase.
    public let reason: String
    /// When the next attempt starts; nil if there is none.
    public let nextAttempt: Date?

    /// The values as user info.
    public var userInfo: UserInfo {
        var info: UserInfo = [RelayLinkKey.relay: .string(relay), RelayLinkKey.reason: .string(reason)]
        info[RelayLinkKey.nextAttempt] = nextAttempt.map { .double($0.timeIntervalSince1970) }
        return info
    }

    /// Creates the notification.
    public init(relay: String, reason: String, nextAttempt: Date?) {
        self.relay = relay
        self.reason = reason
        self.nextAttempt = nextAttempt
    }

    /// Returns nil if `userInfo` has no relay or no reason.
    public init?(userInfo: UserInfo) {
        guard let relay = userInfo[RelayLinkKey.relay]?.string,
            let reason = userInfo[RelayLinkKey.reason]?.string
        else { return nil }
        let next = userInfo[RelayLinkKey.nextAttempt]?.double
        self.init(
            relay: relay, reason: reason, nextAttempt: next.map { Date(timeIntervalSince1970: $0) })
    }
}

/// Posted before the device sleeps, which it does when the observers of all apps have finished, or after four
/// seconds.
public struct DeviceWillSleep: TypedNotification, Equatable {
    /// The name under which the notification is posted.
    public static let name = NotificationName.deviceWillSleep
    /// Empty: the notification has no values.
    public let userInfo: UserInfo = [:]

    /// Creates the notification.
    public init() {}
    /// Creates the notification; the user info is ignored.
    public init?(userInfo: UserInfo) {}
}

/// Posted when the device has woken, or did not sleep after all.
public struct DeviceDidWake: TypedNotification, Equatable {
    /// The name under which the notification is posted.
    public static let name = NotificationName.deviceDidWake
    /// Empty: the notification has no values.
    public let userInfo: UserInfo = [:]

    /// Creates the notification.
    public init() {}
    /// Creates the notification; the user info is ignored.
    public init?(userInfo: UserInfo) {}
}

/// Posted when the clock was set.
public struct SystemClockDidChange: TypedNotification, Equatable {
    /// The name under which the notification is posted.
    public static let name = NotificationName.systemClockDidChange
    /// Seconds by which the clock was set forward; negative if it was set back.
    public let shift: TimeInterval

    /// The shift as user info.
    public var userInfo: UserInfo { [SystemClockKey.shift: .double(shift)] }

    /// Creates the notification.
    public init(shift: TimeInterval) { self.shift = shift }

    /// Returns nil if `userInfo` has no shift.
    public init?(userInfo: UserInfo) {
        guard let shift = userInfo[SystemClockKey.shift]?.double else { return nil }
        self.shift = shift
    }
}

/// Posted when the time zone has changed.
public struct SystemTimeZoneDidChange: TypedNotification, Equatable {
    /// The name under which the notification is posted.
    public static let name = NotificationName.systemTimeZoneDidChange
    /// The present time zone of the device, such as `Europe/Berlin`.
    public let identifier: String

    /// The zone as user info.
    public var userInfo: UserInfo { [SystemClockKey.timeZone: .string(identifier)] }

    /// Creates the notification.
    public init(identifier: String) { self.identifier = identifier }

    /// Returns nil if `userInfo` has no zone.
    public init?(userInfo: UserInfo) {
        guard let identifier = userInfo[SystemClockKey.timeZone]?.string else { return nil }
        self.identifier = identifier
    }
}

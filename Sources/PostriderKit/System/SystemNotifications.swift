public import FoundationEssentials

/// The agent tries to reach the relay.
public struct RelayLinkWillConnect: TypedNotification, Equatable {
    /// What it is posted under.
    public static let name = NotificationName.relayLinkWillConnect
    /// The relay's host and port.
    public let relay: String

    /// The relay as a user info.
    public var userInfo: UserInfo { [RelayLinkKey.relay: .string(relay)] }

    /// News of an attempt.
    public init(relay: String) { self.relay = relay }

    /// Nil: there is no relay in it.
    public init?(userInfo: UserInfo) {
        guard let relay = userInfo[RelayLinkKey.relay]?.string else { return nil }
        self.relay = relay
    }
}

/// The device can be pushed to.
public struct RelayLinkDidConnect: TypedNotification, Equatable {
    /// What it is posted under.
    public static let name = NotificationName.relayLinkDidConnect
    /// The relay's host and port.
    public let relay: String

    /// The relay as a user info.
    public var userInfo: UserInfo { [RelayLinkKey.relay: .string(relay)] }

    /// News of a link.
    public init(relay: String) { self.relay = relay }

    /// Nil: there is no relay in it.
    public init?(userInfo: UserInfo) {
        guard let relay = userInfo[RelayLinkKey.relay]?.string else { return nil }
        self.relay = relay
    }
}

/// The link that was up is about to go, or was just found gone.
public struct RelayLinkWillDisconnect: TypedNotification, Equatable {
    /// What it is posted under.
    public static let name = NotificationName.relayLinkWillDisconnect
    /// The relay's host and port.
    public let relay: String
    /// Why, one phrase.
    public let reason: String

    /// Both as a user info.
    public var userInfo: UserInfo {
        [RelayLinkKey.relay: .string(relay), RelayLinkKey.reason: .string(reason)]
    }

    /// News of a link's end.
    public init(relay: String, reason: String) {
        self.relay = relay
        self.reason = reason
    }

    /// Nil: relay or reason are not in it.
    public init?(userInfo: UserInfo) {
        guard let relay = userInfo[RelayLinkKey.relay]?.string,
            let reason = userInfo[RelayLinkKey.reason]?.string
        else { return nil }
        self.init(relay: relay, reason: reason)
    }
}

/// The link is gone, or an attempt has failed.
public struct RelayLinkDidDisconnect: TypedNotification, Equatable {
    /// What it is posted under.
    public static let name = NotificationName.relayLinkDidDisconnect
    /// The relay's host and port.
    public let relay: String
    /// Why, one phrase.
    public let reason: String
    /// When it is tried again; nil: not any more.
    public let nextAttempt: Date?

    /// All of it as a user info.
    public var userInfo: UserInfo {
        var info: UserInfo = [RelayLinkKey.relay: .string(relay), RelayLinkKey.reason: .string(reason)]
        info[RelayLinkKey.nextAttempt] = nextAttempt.map { .double($0.timeIntervalSince1970) }
        return info
    }

    /// News of a link's end.
    public init(relay: String, reason: String, nextAttempt: Date?) {
        self.relay = relay
        self.reason = reason
        self.nextAttempt = nextAttempt
    }

    /// Nil: relay or reason are not in it.
    public init?(userInfo: UserInfo) {
        guard let relay = userInfo[RelayLinkKey.relay]?.string,
            let reason = userInfo[RelayLinkKey.reason]?.string
        else { return nil }
        let next = userInfo[RelayLinkKey.nextAttempt]?.double
        self.init(
            relay: relay, reason: reason, nextAttempt: next.map { Date(timeIntervalSince1970: $0) })
    }
}

/// The device goes to sleep when the observers of all apps have finished, or four seconds have gone by.
public struct DeviceWillSleep: TypedNotification, Equatable {
    /// What it is posted under.
    public static let name = NotificationName.deviceWillSleep
    /// Nothing.
    public let userInfo: UserInfo = [:]

    /// The news.
    public init() {}
    /// The news, whatever it says.
    public init?(userInfo: UserInfo) {}
}

/// The device is awake, or was kept from sleeping after all.
public struct DeviceDidWake: TypedNotification, Equatable {
    /// What it is posted under.
    public static let name = NotificationName.deviceDidWake
    /// Nothing.
    public let userInfo: UserInfo = [:]

    /// The news.
    public init() {}
    /// The news, whatever it says.
    public init?(userInfo: UserInfo) {}
}

/// The clock was set.
public struct SystemClockDidChange: TypedNotification, Equatable {
    /// What it is posted under.
    public static let name = NotificationName.systemClockDidChange
    /// Seconds by which it was set forward, negative where it was set back.
    public let shift: TimeInterval

    /// The shift as a user info.
    public var userInfo: UserInfo { [SystemClockKey.shift: .double(shift)] }

    /// News of a clock.
    public init(shift: TimeInterval) { self.shift = shift }

    /// Nil: there is no shift in it.
    public init?(userInfo: UserInfo) {
        guard let shift = userInfo[SystemClockKey.shift]?.double else { return nil }
        self.shift = shift
    }
}

/// The device is in another time zone.
public struct SystemTimeZoneDidChange: TypedNotification, Equatable {
    /// What it is posted under.
    public static let name = NotificationName.systemTimeZoneDidChange
    /// The zone that it is in now, such as `Europe/Berlin`.
    public let identifier: String

    /// The zone as a user info.
    public var userInfo: UserInfo { [SystemClockKey.timeZone: .string(identifier)] }

    /// News of a zone.
    public init(identifier: String) { self.identifier = identifier }

    /// Nil: there is no zone in it.
    public init?(userInfo: UserInfo) {
        guard let identifier = userInfo[SystemClockKey.timeZone]?.string else { return nil }
        self.identifier = identifier
    }
}

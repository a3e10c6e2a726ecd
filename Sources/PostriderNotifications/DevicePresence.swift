/// Whether a device is connected, since when, and what is known of its last connection.
public struct DevicePresence: Hashable, Sendable {
    /// How a connection of a device ended. The raw values stand in the registry and on the control socket.
    public enum Ending: String, CaseIterable, Sendable {
        /// Its agent said goodbye.
        case goodbye
        /// Its agent said that the device goes to sleep.
        case asleep
        /// The device closed the connection without a goodbye.
        case closed
        /// The device, or the network, cut the connection.
        case cut
        /// The device did not answer a PING.
        case silent
        /// The device did not take what was sent to it.
        case notTaken
        /// The device broke the protocol.
        case protocolError
        /// Another connection of the device took its place.
        case replaced
        /// The relay had too much to do and asked the device to come back later.
        case overloaded
        /// The operator removed the device.
        case removed
        /// The relay was stopped.
        case relayStopped
        /// The relay ended without being stopped: it was killed, or its machine failed.
        case relayFailed
    }

    /// Whether a connection is open.
    public var isConnected: Bool
    /// When it was connected, or when it left.
    public var since: Moment
    /// The address of its last connection, without the port; empty: not known.
    public var address: String
    /// Program and version of its agent, as its last hello said; empty: not known.
    public var agent: String
    /// How its last connection that is over ended; nil: not known.
    public var ending: Ending?

    /// A presence from its parts.
    public init(isConnected: Bool, since: Moment, address: String, agent: String, ending: Ending? = nil) {
        self.isConnected = isConnected
        self.since = since
        self.address = address
        self.agent = agent
        self.ending = ending
    }

    /// What a new run of the relay knows of it: a device that was connected has been away since the relay was last
    /// known to run.
    public func after(_ run: RelayRun) -> DevicePresence {
        guard isConnected else { return self }
        var presence = self
        presence.isConnected = false
        presence.since = max(since, run.aliveAt)
        presence.ending = run.isStopped ? .relayStopped : .relayFailed
        return presence
    }
}

/// The presence of one device in the registry.
public struct PresenceRecord: Hashable, Sendable {
    /// The device.
    public let device: DeviceIdentity
    /// Its presence.
    public var presence: DevicePresence

    /// A record from its parts.
    public init(device: DeviceIdentity, presence: DevicePresence) {
        self.device = device
        self.presence = presence
    }
}

/// One run of the relay, from its start to its end. Devices that the registry has as connected were so while it ran.
public struct RelayRun: Hashable, Sendable {
    /// When the relay was started, by which its runs are told apart.
    public let startedAt: Moment
    /// When it was last known to run.
    public var aliveAt: Moment
    /// Whether it was stopped in good order.
    public var isStopped: Bool

    /// A run from its parts.
    public init(startedAt: Moment, aliveAt: Moment, isStopped: Bool = false) {
        self.startedAt = startedAt
        self.aliveAt = aliveAt
        self.isStopped = isStopped
    }

    /// The same run, of which something newer is known.
    public func merged(with newer: RelayRun) -> RelayRun {
        RelayRun(
            startedAt: startedAt, aliveAt: max(aliveAt, newer.aliveAt),
            isStopped: isStopped || newer.isStopped)
    }
}

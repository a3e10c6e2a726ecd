/// Whether a device is connected, since when, and what is known of its last connection.
public struct DevicePresence: Hashable, Sendable {
    /// How a connection of a device ended. The raw values are used in the registry and on the control socket.
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
        /// The relay was overloaded and asked the device to come back later.
        case overloaded
        /// The operator removed the device.
        case removed
        /// The relay was stopped.
        case relayStopped
        /// The relay ended without being stopped: it was killed, or its machine failed.
        case relayFailed
        /// Another node of the cluster serves the device from then on: its node gave it up, or failed.
        case moved
    }

    /// Whether a connection is open.
    public var isConnected: Bool
    /// When it connected, or when its connection ended.
    public var since: Moment
    /// The address of its last connection without the port; empty if unknown.
    public var address: String
    /// Program and version of its agent, from its last hello; empty if unknown.
    public var agent: String
    /// How its last finished connection ended; nil if unknown.
    public var ending: Ending?

    /// Creates a presence from its parts.
    public init(isConnected: Bool, since: Moment, address: String, agent: String, ending: Ending? = nil) {
        self.isConnected = isConnected
        self.since = since
        self.address = address
        self.agent = agent
        self.ending = ending
    }

    /// The presence from the view of a new run of the relay: a device that was connected counts as away since the
    /// relay was last known to run.
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

    /// Creates a record from its parts.
    public init(device: DeviceIdentity, presence: DevicePresence) {
        self.device = device
        self.presence = presence
    }
}

/// One run of the relay, from its start to its end. Devices that the registry records as connected were connected
/// during this run.
public struct RelayRun: Hashable, Sendable {
    /// When the relay was started. It identifies the run.
    public let startedAt: Moment
    /// When it was last known to run.
    public var aliveAt: Moment
    /// Whether it was stopped in order.
    public var isStopped: Bool

    /// Creates a run from its parts.
    public init(startedAt: Moment, aliveAt: Moment, isStopped: Bool = false) {
        self.startedAt = startedAt
        self.aliveAt = aliveAt
        self.isStopped = isStopped
    }

    /// The same run, updated with newer information.
    public func merged(with newer: RelayRun) -> RelayRun {
        RelayRun(
            startedAt: startedAt, aliveAt: max(aliveAt, newer.aliveAt),
            isStopped: isStopped || newer.isStopped)
    }
}

public import FoundationEssentials
import PostriderCourier

/// The state of the connection between the device and the relay.
public enum RelayLinkState: Equatable, Sendable {
    /// The agent tries to reach the relay, given as host and port.
    case connecting(relay: String)
    /// The device receives pushes.
    case connected(relay: String)
    /// The device receives no pushes. The reason is a phrase. The next attempt is nil while the connection is ending,
    /// and if no attempt will be made.
    case disconnected(relay: String, reason: String, nextAttempt: Date?)

    init(_ change: LinkChange) {
        switch change.phase {
        case .willConnect: self = .connecting(relay: change.relay)
        case .didConnect: self = .connected(relay: change.relay)
        case .willDisconnect, .didDisconnect:
            self = .disconnected(
                relay: change.relay, reason: change.reason,
                nextAttempt: change.nextAttemptAt.map { Date($0) })
        }
    }
}

// The current state of the device, readable on any thread. The agent reports it when the application attaches, before
// it hands anything over, and whenever it changes. It may be newer than the notification that is being observed.
extension Application {
    /// The state of the connection to the agent.
    public var agentConnection: AgentConnection { device.agentConnection }

    /// The connection between device and relay; nil until an attached agent has reported it.
    public var relayLink: RelayLinkState? { device.relayLink }

    /// The present or target frame of the keyboard on screen; nil if it is hidden, or not known.
    public var keyboardFrame: KeyboardMovement.Frame? {
        device.keyboardFrame.map { KeyboardMovement.Frame($0) }
    }

    /// The device's time zone; nil until the agent has reported it.
    public var timeZone: TimeZone? { device.timeZone.flatMap { TimeZone(identifier: $0) } }

    /// Whether the owner of the device lets the application notify; nil until the agent has reported it.
    public var authorizationStatus: AuthorizationStatus? { reports.authorizationStatus }
}

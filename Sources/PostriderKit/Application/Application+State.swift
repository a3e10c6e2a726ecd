public import FoundationEssentials
import PostriderCourier
import PostriderNotifications
import PostriderSystem
import PostriderTransport
import Synchronization

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
    public var agentConnection: AgentConnection { state.withLock { $0.agentConnection } }

    /// The connection between device and relay; nil until an attached agent has reported it.
    public var relayLink: RelayLinkState? {
        state.withLock { $0.agentConnection == .connected ? $0.link.map { RelayLinkState($0) } : nil }
    }

    /// The present or target frame of the keyboard on screen; nil if it is hidden, or not known.
    public var keyboardFrame: KeyboardMovement.Frame? {
        state.withLock { $0.keyboard.map { KeyboardMovement.Frame($0) } }
    }

    /// The device's time zone; nil until the agent has reported it.
    public var timeZone: TimeZone? { state.withLock { $0.timeZone }.flatMap { TimeZone(identifier: $0) } }

    /// Whether the owner of the device lets the application notify; nil until the agent has reported it.
    public var authorizationStatus: AuthorizationStatus? { state.withLock { $0.authorizationStatus } }
}

// Calls by the link, on its thread.
extension Application {
    /// The application has attached, and the agent has reported the device's state. Differences to the known state
    /// are posted as changes; the state of the connection to the relay is posted in any case.
    func attached(to device: DeviceState) {
        let (former, keyboard) = state.withLock { state in (state.timeZone, state.keyboard) }
        if let link = device.link { happened(.link(link)) }
        if keyboard != device.keyboard { move(from: keyboard, to: device.keyboard) }
        state.withLock { state in
            state.keyboard = device.keyboard
            if !device.timeZone.isEmpty { state.timeZone = device.timeZone }
        }
        if let former, !device.timeZone.isEmpty, former != device.timeZone {
            post(SystemTimeZoneDidChange(identifier: device.timeZone))
        }
    }

    /// Posts a movement of the keyboard that happened while the application was not attached, with a duration of 0.
    private func move(from begin: KeyboardFrame?, to end: KeyboardFrame?) {
        guard let frame = begin ?? end else { return }
        let below = KeyboardFrame(
            x: frame.x, y: frame.y &+ frame.height, width: frame.width, height: frame.height)
        let phases: [KeyboardChange.Phase] =
            if begin == nil {
                [.willChangeFrame, .willShow, .didChangeFrame, .didShow]
            } else if end == nil {
                [.willChangeFrame, .willHide, .didChangeFrame, .didHide]
            } else {
                [.willChangeFrame, .didChangeFrame]
            }
        for phase in phases {
            happened(
                .keyboard(
                    KeyboardChange(
                        phase: phase, begin: begin ?? below, end: end ?? below, durationMilliseconds: 0,
                        curve: .easeInOut)))
        }
    }

    /// The link starts to connect to the agent.
    func agentIsTried() {
        state.withLock { state in
            if state.agentConnection == .none { state.agentConnection = .connecting }
        }
    }

    /// The agent answers. This is posted if it could not be reached before.
    func agentAnswered() {
        let isNews = state.withLock { state in
            defer { state.agentConnection = .connected }
            if case .unreachable = state.agentConnection { return true }
            return false
        }
        if isNews { post(AgentConnectionDidChange(reason: nil)) }
    }

    /// The agent cannot be reached, or no longer can.
    ///
    /// - Parameter isFault: whether a person has to act; it is then reported once for each time that the agent is
    ///   away.
    func agentUnreachable(_ reason: String, isFault: Bool) {
        let (isNews, isComplaint) = state.withLock { state in
            defer {
                state.agentConnection = .unreachable(reason: reason)
                state.hasComplained = isFault
                state.link = nil
            }
            return (
                state.agentConnection != .unreachable(reason: reason), isFault && !state.hasComplained
            )
        }
        if isNews { post(AgentConnectionDidChange(reason: reason)) }
        if isComplaint { complain("\(topic): \(reason) The application goes on trying.") }
    }

    /// Writes one line to standard error.
    static func writeToStandardError(_ line: String) {
        try? StandardStream.errors.write("postrider: \(line)\n")
    }
}

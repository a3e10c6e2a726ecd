public import FoundationEssentials
import PostriderCourier
import PostriderNotifications
import PostriderTransport
import Synchronization

/// How the device's link to the relay is.
public enum RelayLinkState: Equatable, Sendable {
    /// The agent tries to reach the relay, host and port.
    case connecting(relay: String)
    /// The device can be pushed to.
    case connected(relay: String)
    /// It cannot; the reason is a phrase. The next attempt is nil while the link ends, and where there is none.
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

// What holds now, for any thread. The agent tells it whenever the application attaches, before what it hands over, and
// whenever it changes. It may be ahead of the notification that is being observed.
extension Application {
    /// How the application stands to the agent.
    public var agentConnection: AgentConnection { state.withLock { $0.agentConnection } }

    /// The link between device and relay; nil while no agent is attached that has told it.
    public var relayLink: RelayLinkState? {
        state.withLock { $0.agentConnection == .connected ? $0.link.map { RelayLinkState($0) } : nil }
    }

    /// Where the keyboard on screen is, or moves to; nil: it is hidden, or nobody has told.
    public var keyboardFrame: KeyboardMovement.Frame? {
        state.withLock { $0.keyboard.map { KeyboardMovement.Frame($0) } }
    }

    /// The device's time zone as the agent has told it; nil: it has not yet.
    public var timeZone: TimeZone? { state.withLock { $0.timeZone }.flatMap { TimeZone(identifier: $0) } }

    /// Whether the owner of the device lets the application notify; nil: the agent has not told yet.
    public var authorizationStatus: AuthorizationStatus? { state.withLock { $0.authorizationStatus } }
}

// What the link tells, from its thread.
extension Application {
    /// The application has attached, and is told what holds. What is other than it knew is posted as what has changed;
    /// the link to the relay is told in any case.
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

    /// The keyboard has come, gone or moved while nobody told: as a movement that took no time.
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

    /// The agent is being connected to.
    func agentIsTried() {
        state.withLock { state in
            if state.agentConnection == .none { state.agentConnection = .connecting }
        }
    }

    /// The agent answers. That is news after it could not be reached.
    func agentAnswered() {
        let isNews = state.withLock { state in
            defer { state.agentConnection = .connected }
            if case .unreachable = state.agentConnection { return true }
            return false
        }
        if isNews { post(AgentConnectionDidChange(reason: nil)) }
    }

    /// The agent cannot be reached, or not any more.
    ///
    /// - Parameter isFault: whether somebody has to do something about it; told once for each time that the agent is
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

    /// One line on standard error.
    static func writeToStandardError(_ line: String) {
        try? StandardStream.errors.write("postrider: \(line)\n")
    }
}

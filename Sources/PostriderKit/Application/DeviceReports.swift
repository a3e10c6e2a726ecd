import FoundationEssentials
import PostriderCourier
import PostriderNotifications
import Synchronization

/// What the agent has reported of the device, and whether the agent answers. The link changes it on its thread, and
/// the application reads it on any thread. Each change returns the notifications that are to be posted for it.
final class DeviceReports: Sendable {
    private struct State {
        var agentConnection = AgentConnection.none
        /// Whether the user has been told that the agent is away.
        var hasComplained = false
        var link: LinkChange?
        var keyboard: KeyboardFrame?
        var timeZone: String?
    }

    private let state = Mutex(State())

    /// The state of the connection to the agent.
    var agentConnection: AgentConnection { state.withLock { $0.agentConnection } }

    /// The connection between device and relay; nil until an attached agent has reported it.
    var relayLink: RelayLinkState? {
        state.withLock { $0.agentConnection == .connected ? $0.link.map { RelayLinkState($0) } : nil }
    }

    /// The present or target frame of the keyboard on screen; nil if it is hidden, or not known.
    var keyboardFrame: KeyboardFrame? { state.withLock { $0.keyboard } }

    /// The identifier of the device's time zone; nil until the agent has reported it.
    var timeZone: String? { state.withLock { $0.timeZone } }

    // MARK: The agent

    /// The link starts to connect to the agent.
    func agentIsTried() {
        state.withLock { state in
            if state.agentConnection == .none { state.agentConnection = .connecting }
        }
    }

    /// The agent answers. This is news if it could not be reached before.
    func agentAnswered() -> AgentConnectionDidChange? {
        state.withLock { state in
            defer { state.agentConnection = .connected }
            guard case .unreachable = state.agentConnection else { return nil }
            return AgentConnectionDidChange(reason: nil)
        }
    }

    /// The agent cannot be reached, or no longer can.
    ///
    /// - Parameter isFault: whether a person has to act.
    /// - Returns: what is to be posted, and whether the user is to be told: once for each time that the agent is
    ///   away.
    func agentUnreachable(
        _ reason: String, isFault: Bool
    ) -> (news: AgentConnectionDidChange?, isComplaint: Bool) {
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
        return (isNews ? AgentConnectionDidChange(reason: reason) : nil, isComplaint)
    }

    /// The link has ended.
    func linkEnded() { state.withLock { $0.agentConnection = .none } }

    // MARK: The device

    /// The application has attached, and the agent has reported the device's state. Differences to the known state
    /// count as changes; the state of the connection to the relay counts in any case.
    func attached(to device: DeviceState) -> [any TypedNotification] {
        let (former, keyboard) = state.withLock { state in (state.timeZone, state.keyboard) }
        var news: [any TypedNotification] = []
        if let link = device.link { news.append(changed(link)) }
        if keyboard != device.keyboard { news += move(from: keyboard, to: device.keyboard) }
        state.withLock { state in
            state.keyboard = device.keyboard
            if !device.timeZone.isEmpty { state.timeZone = device.timeZone }
        }
        if let former, !device.timeZone.isEmpty, former != device.timeZone {
            news.append(SystemTimeZoneDidChange(identifier: device.timeZone))
        }
        return news
    }

    /// An event of the device has happened. ``DeviceWillSleep`` is not among what is returned, because the agent waits
    /// for its observers.
    func happened(_ event: SystemEvent) -> [any TypedNotification] {
        switch event {
        case .link(let change): [changed(change)]
        case .power(let change): change.phase == .didWake ? [DeviceDidWake()] : []
        case .clock(let change): changed(change)
        case .keyboard(let change): [changed(change)]
        case .unknown: []
        }
    }

    private func changed(_ change: LinkChange) -> any TypedNotification {
        state.withLock { $0.link = change }
        switch change.phase {
        case .willConnect: return RelayLinkWillConnect(relay: change.relay)
        case .didConnect: return RelayLinkDidConnect(relay: change.relay)
        case .willDisconnect: return RelayLinkWillDisconnect(relay: change.relay, reason: change.reason)
        case .didDisconnect:
            return RelayLinkDidDisconnect(
                relay: change.relay, reason: change.reason,
                nextAttempt: change.nextAttemptAt.map { Date($0) })
        }
    }

    private func changed(_ change: ClockChange) -> [any TypedNotification] {
        var news: [any TypedNotification] = []
        if let zone = change.timeZone { state.withLock { $0.timeZone = zone } }
        if let shift = change.shiftMilliseconds {
            news.append(SystemClockDidChange(shift: TimeInterval(shift) / 1000))
        }
        if let zone = change.timeZone { news.append(SystemTimeZoneDidChange(identifier: zone)) }
        return news
    }

    private func changed(_ change: KeyboardChange) -> any TypedNotification {
        let isHiding = [.willHide, .didHide].contains(change.phase)
        if isHiding || change.phase != .didChangeFrame {
            state.withLock { $0.keyboard = isHiding ? nil : change.end }
        }
        let movement = KeyboardMovement(change)
        switch change.phase {
        case .willChangeFrame: return KeyboardWillChangeFrame(movement)
        case .didChangeFrame: return KeyboardDidChangeFrame(movement)
        case .willShow: return KeyboardWillShow(movement)
        case .didShow: return KeyboardDidShow(movement)
        case .willHide: return KeyboardWillHide(movement)
        case .didHide: return KeyboardDidHide(movement)
        }
    }

    /// A movement of the keyboard that happened while the application was not attached, with a duration of 0.
    private func move(from begin: KeyboardFrame?, to end: KeyboardFrame?) -> [any TypedNotification] {
        guard let frame = begin ?? end else { return [] }
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
        return phases.map { phase in
            changed(
                KeyboardChange(
                    phase: phase, begin: begin ?? below, end: end ?? below, durationMilliseconds: 0,
                    curve: .easeInOut))
        }
    }
}

extension KeyboardMovement {
    fileprivate init(_ change: KeyboardChange) {
        self.init(
            frameBegin: Frame(change.begin), frameEnd: Frame(change.end),
            animationDuration: TimeInterval(change.durationMilliseconds) / 1000,
            animationCurve: Curve(rawValue: Int(change.curve.rawValue)) ?? .easeInOut)
    }
}

extension KeyboardMovement.Frame {
    init(_ frame: KeyboardFrame) {
        self.init(x: Int(frame.x), y: Int(frame.y), width: Int(frame.width), height: Int(frame.height))
    }
}

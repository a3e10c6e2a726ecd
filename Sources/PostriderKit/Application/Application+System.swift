import Dispatch
import FoundationEssentials
import PostriderCourier
import PostriderNotifications
import PostriderTransport
import Synchronization

// Events of the device, reported by the agent on the link's thread.
extension Application {
    /// Handles an event of the device.
    func happened(_ event: SystemEvent) {
        switch event {
        case .link(let change): happened(change)
        case .power(let change): happened(change)
        case .clock(let change):
            if let zone = change.timeZone { state.withLock { $0.timeZone = zone } }
            if let shift = change.shiftMilliseconds {
                post(SystemClockDidChange(shift: TimeInterval(shift) / 1000))
            }
            if let zone = change.timeZone { post(SystemTimeZoneDidChange(identifier: zone)) }
        case .keyboard(let change): happened(change)
        case .unknown: break
        }
    }

    private func happened(_ change: LinkChange) {
        state.withLock { $0.link = change }
        switch change.phase {
        case .willConnect: post(RelayLinkWillConnect(relay: change.relay))
        case .didConnect: post(RelayLinkDidConnect(relay: change.relay))
        case .willDisconnect: post(RelayLinkWillDisconnect(relay: change.relay, reason: change.reason))
        case .didDisconnect:
            post(
                RelayLinkDidDisconnect(
                    relay: change.relay, reason: change.reason,
                    nextAttempt: change.nextAttemptAt.map { Date($0) }))
        }
    }

    private func happened(_ change: PowerChange) {
        switch change.phase {
        case .willSleep:
            // The device does not sleep before these observers have returned, or their time is over.
            queue.async { [self] in
                let mailbox = state.withLock { $0.mailbox }
                deliver(DeviceWillSleep()) { _ in mailbox?.postEvenIfFull(.ready(sleep: change.sleep)) }
            }
        case .didWake: post(DeviceDidWake())
        }
    }

    private func happened(_ change: KeyboardChange) {
        let isHiding = [.willHide, .didHide].contains(change.phase)
        if isHiding || change.phase != .didChangeFrame {
            state.withLock { $0.keyboard = isHiding ? nil : change.end }
        }
        let movement = KeyboardMovement(change)
        switch change.phase {
        case .willChangeFrame: post(KeyboardWillChangeFrame(movement))
        case .didChangeFrame: post(KeyboardDidChangeFrame(movement))
        case .willShow: post(KeyboardWillShow(movement))
        case .didShow: post(KeyboardDidShow(movement))
        case .willHide: post(KeyboardWillHide(movement))
        case .didHide: post(KeyboardDidHide(movement))
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

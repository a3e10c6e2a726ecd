import PostriderCourier
import PostriderEndpoints
import PostriderHTTP2
import PostriderNotifications
import PostriderTransport

/// The timeouts of a device's connection.
extension DeviceSession {
    /// When the device is asked for signs of life.
    struct Keepalive {
        /// The seconds of silence after which it is asked.
        var seconds = UInt32(Limits.keepaliveSeconds.usual)
        /// Whether it was asked, and has not answered.
        var isAwaitingPong = false
    }

    /// The device is let in: from now on it is asked for signs of life.
    func beginKeepalive() {
        _ = endpoint.takeHeard()
        if connections.deviceLinks == .lean { endpoint.streams.becomeLeanWhenQuiet() }
        arm(seconds: keepalive.seconds)
    }

    func arm(seconds: UInt32) {
        let timer = self.timer ?? context.scheduler.makeTimer { [unowned self] in timeIsUp() }
        self.timer = timer
        timer.arm(afterMilliseconds: Int(seconds) * 1000)
    }

    /// The time for the hello is over, or a keepalive interval is. A device that was silent for one interval gets a
    /// PING, and counts as dead if it stays silent.
    private func timeIsUp() {
        switch stage {
        case .open: break
        case .farewell: return endAsSaid()
        case .ending where carrier.edge != nil: return
        case .ending: return endpoint.close(.localClose)
        }
        guard entry != nil || passage?.isAnswered == true else { return giveUp() }
        endpoint.streams.forgiveEmptyFrames()
        if endpoint.takeHeard() {
            keepalive.isAwaitingPong = false
            arm(seconds: keepalive.seconds)
        } else if keepalive.isAwaitingPong {
            giveUpDead()
        } else {
            keepalive.isAwaitingPong = true
            endpoint.streams.ping()
            arm(seconds: min(keepalive.seconds, Self.pongSeconds))
        }
    }

    /// No device was let in on this connection in time. Calls that wait are answered, then the connection ends.
    private func giveUp() {
        let seconds = Limits.helloMilliseconds / 1000
        refuseEnrolments(afterSeconds: seconds)
        guard !carrier.isMissing else {
            let sentence = "neither Connect nor Enroll within \(seconds) seconds"
            return endpoint.close(.idleTimeout, debug: Array(sentence.utf8))
        }
        guard isAwaitingHello else {
            // The device has said hello and its home is late: that is the relay's fault, not the device's.
            let detail = "the relay did not let the device in within \(seconds) seconds"
            return leave(.overloaded, retryAfterMilliseconds: UInt32(Limits.slotMilliseconds.least), detail)
        }
        let detail = "no hello within \(seconds) seconds"
        context.deviceEnds.noteBroken(detail, by: endpoint.peer, kind: "no hello")
        leave(.protocolError, detail, with: .deadlineExceeded)
    }

    /// The device did not answer a PING. It is told why, if the socket takes that at once: it may be alive behind a
    /// network that was down.
    private func giveUpDead() {
        ending = ending ?? .silent
        guard let wire = endpoint.wire, !wire.isBlocked else {
            endpoint.wire?.abort(.idleTimeout)
            return
        }
        let detail = "no answer to a PING within \(min(keepalive.seconds, Self.pongSeconds)) seconds"
        leave(.unspecified, detail, with: .deadlineExceeded)
        endpoint.close(.idleTimeout, debug: Array(detail.utf8))
    }
}

import Endpoints
import HTTP2
import Transport

/// What happens on a device's connection because time goes by.
extension DeviceSession {
    func arm(seconds: UInt32) {
        let timer = self.timer ?? shard.scheduler.makeTimer { [unowned self] in timeIsUp() }
        self.timer = timer
        timer.arm(afterMilliseconds: Int(seconds) * 1000)
    }

    /// No hello in time; or a keepalive interval is over. A device that was silent for one is asked with a
    /// PING, and is dead if it stays silent.
    private func timeIsUp() {
        guard farewell == nil || isEnding else { return endAsSaid() }
        guard seat != nil, !isEnding else {
            endpoint.close(isEnding ? .localClose : .idleTimeout)
            return
        }
        endpoint.streams.forgiveEmptyFrames()
        if endpoint.takeHeard() {
            isAwaitingPong = false
            arm(seconds: keepaliveSeconds)
        } else if isAwaitingPong {
            endpoint.wire?.abort(.idleTimeout)
        } else {
            isAwaitingPong = true
            endpoint.streams.ping()
            endpoint.setNeedsFlush()
            arm(seconds: min(keepaliveSeconds, Self.pongSeconds))
        }
    }
}

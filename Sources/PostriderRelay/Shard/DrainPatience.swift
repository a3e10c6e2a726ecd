import PostriderNotifications
import PostriderTransport

/// How long a shard that drains waits for others.
struct DrainPatience {
    private let scheduler: any Scheduler
    private let handshakesUntil: UInt64
    private let timers: [any LoopTimer]

    /// Starts to wait.
    ///
    /// - Parameter cut: cuts the connections that are still open when the time is over.
    init(on scheduler: any Scheduler, cut: @escaping () -> Void) {
        self.scheduler = scheduler
        handshakesUntil = scheduler.now + UInt64(Limits.drainHandshakeMilliseconds) * 1_000_000
        // Only makes sure of a turn when handshakes are not waited for any longer.
        let turn = scheduler.makeTimer {}
        turn.arm(afterMilliseconds: Limits.drainHandshakeMilliseconds + 1)
        let end = scheduler.makeTimer(cut)
        end.arm(afterMilliseconds: Limits.drainMilliseconds)
        timers = [turn, end]
    }

    /// Whether TLS handshakes may still finish: providers in the middle of one get GOAWAY after it, and know that they
    /// have to come again.
    var waitsForHandshakes: Bool { scheduler.now < handshakesUntil }
}

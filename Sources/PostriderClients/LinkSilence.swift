import PostriderCourier
import PostriderTransport

/// Measures how long one link was silent, and finds out whether something on the path, such as a proxy or a NAT, has
/// cut it for its silence.
///
/// It has no I/O and no clock: times are monotonic nanoseconds that callers pass.
struct LinkSilence {
    /// When something was last sent or received.
    private var spokenAt: UInt64 = 0
    /// The seconds of silence before the last PING.
    private var beforePing = 0
    /// The longest silence that the link survived, in seconds.
    private var borneSeconds = 0
    private var isUnanswered = false

    /// This side has sent something. Whether the link has survived the silence before it is known when something is
    /// received.
    mutating func said(at now: UInt64) { spokenAt = now }

    /// The relay has sent something.
    mutating func heard(at now: UInt64) {
        borneSeconds = max(borneSeconds, seconds(at: now))
        spokenAt = now
    }

    /// A PING is sent.
    mutating func pinged(at now: UInt64) { beforePing = seconds(at: now) }

    /// The last PING was answered.
    ///
    /// - Returns: the seconds of silence before it, if that was about as long as the whole interval; nil otherwise,
    ///   because it proves nothing about longer silences.
    mutating func ponged(at now: UInt64, interval: Int) -> Int? {
        spokenAt = now
        borneSeconds = max(borneSeconds, beforePing)
        return beforePing * 10 >= interval * 9 ? beforePing : nil
    }

    /// The last PING was not answered in time, and the link is closed.
    mutating func pongIsOverdue() { isUnanswered = true }

    /// The link has ended without a reason from either side.
    ///
    /// - Returns: how the silence cut it; nil if the silence is not the cause.
    func cut(_ reason: CloseReason, at now: UInt64) -> PathKeepalive.Cut? {
        switch reason {
        case .peerReset, .peerClosed, .idleTimeout: break
        default: return nil
        }
        return PathKeepalive.Cut(
            isUnanswered: isUnanswered, silentSeconds: isUnanswered ? beforePing : seconds(at: now),
            borneSeconds: borneSeconds)
    }

    private func seconds(at now: UInt64) -> Int { Int((now - min(spokenAt, now)) / 1_000_000_000) }
}

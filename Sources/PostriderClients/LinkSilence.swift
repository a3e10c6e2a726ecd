import PostriderCourier
import PostriderTransport

/// How long nothing was said on one link, and what the link's end says about its path: finds out that something on the
/// way, such as a proxy or a NAT, has cut it because it was silent.
///
/// Pure: time is monotonic nanoseconds and comes in as an argument.
struct LinkSilence {
    /// When something was sent or came last.
    private var spokenAt: UInt64 = 0
    /// Seconds of silence before the last PING.
    private var beforePing = 0
    /// The longest silence that the link bore, in seconds.
    private var borneSeconds = 0
    private var isUnanswered = false

    /// This side has said something. Whether the link has borne the silence before it shows when something comes.
    mutating func said(at now: UInt64) { spokenAt = now }

    /// The relay has said something.
    mutating func heard(at now: UInt64) {
        borneSeconds = max(borneSeconds, seconds(at: now))
        spokenAt = now
    }

    /// A PING is sent.
    mutating func pinged(at now: UInt64) { beforePing = seconds(at: now) }

    /// The last PING is answered.
    ///
    /// - Returns: seconds of the silence before it, where that was about as long as the whole interval; nil where not:
    ///   then it says nothing about a longer one.
    mutating func ponged(at now: UInt64, interval: Int) -> Int? {
        spokenAt = now
        borneSeconds = max(borneSeconds, beforePing)
        return beforePing * 10 >= interval * 9 ? beforePing : nil
    }

    /// The last PING was not answered in time, and the link is given up.
    mutating func pongIsOverdue() { isUnanswered = true }

    /// The link has ended, and nobody said why.
    ///
    /// - Returns: nil where silence is not the cause.
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

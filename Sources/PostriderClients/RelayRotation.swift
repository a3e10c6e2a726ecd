import PostriderCourier
import PostriderNotifications

/// Which of several addresses of one relay a client uses next, and after what pause. Their order is that of
/// preference.
///
/// - An attempt that fails is followed by one at the next address whose own back-off is over. When all have failed,
///   the one whose back-off ends first is next.
/// - After a link that was up, the first address whose back-off is over is next, and at the latest the one of that
///   link. So a client returns to a preferred address with its next link; it never gives up a link for that.
/// - What the relay asks for, it asks for at each of its addresses: no other one is tried sooner.
///
/// Pure: time is monotonic nanoseconds and comes in as an argument.
struct RelayRotation {
    private struct Place {
        var backoff: Backoff
        /// When the back-off is over.
        var readyAt: UInt64 = 0
        /// Whether the relay there did not know the device in the last attempt.
        var isUnknown = false
    }

    private var places: [Place]
    /// The address of the current attempt or link, or else of the next one.
    private(set) var current = 0
    /// How many times in succession another connection replaced this one.
    private var replacements = 0

    /// The most milliseconds between a failed attempt and one at another address: enough for the devices of a relay
    /// whose address fails not to come to the next one all at once.
    private static let mostTurnMilliseconds = 500
    /// The least milliseconds until a relay that does not know the device is asked again, if others may know it.
    private static let unknownMilliseconds = 60_000

    /// A rotation of this many addresses, each with this back-off.
    init(of count: Int, _ backoff: Backoff) {
        precondition(count > 0, "a relay has an address")
        places = Array(repeating: Place(backoff: backoff), count: count)
    }

    /// The client is started: the preferred address is next.
    mutating func restart() {
        current = 0
        for index in places.indices { places[index].isUnknown = false }
    }

    /// The relay has welcomed the device.
    mutating func welcomed() {
        for index in places.indices { places[index].isUnknown = false }
    }

    /// An attempt has failed or a link has ended. Sets ``current`` to the next address.
    ///
    /// - Parameters:
    ///   - upMilliseconds: the time since the welcome; 0 if there was none.
    ///   - random: 64 random bits.
    /// - Returns: the milliseconds until the next attempt; nil if no address is left, because the device is known at
    ///   none of them.
    mutating func ended(_ end: LinkEnd, upMilliseconds: Int, now: UInt64, random: UInt64) -> Int? {
        if end.isUnknownDevice {
            places[current].isUnknown = true
            guard places.contains(where: { !$0.isUnknown }) else { return nil }
        }
        let asked = max(end.retryAfterMilliseconds, replacedMilliseconds(end, upMilliseconds: upMilliseconds))
        let delay = places[current].backoff.delayMilliseconds(
            afterLinkUp: upMilliseconds, retryAfterMilliseconds: asked, random: random)
        let rest = end.isUnknownDevice ? max(delay, Self.unknownMilliseconds) : delay
        places[current].readyAt = now + UInt64(rest) * 1_000_000
        if asked > 0 { return delay }
        if upMilliseconds > 0, !end.isUnknownDevice {
            current = places[..<current].firstIndex { $0.readyAt <= now } ?? current
            return delay
        }
        if let next = places[(current + 1)...].firstIndex(where: { $0.readyAt <= now }) {
            current = next
            return min(delay, Self.mostTurnMilliseconds)
        }
        current = places.indices.min { places[$0].readyAt < places[$1].readyAt } ?? current
        let wait = places[current].readyAt > now ? places[current].readyAt - now : 0
        return Int((wait + 999_999) / 1_000_000)
    }

    /// The milliseconds for which a client that was replaced must wait, so that two machines with one identity do not
    /// replace each other all the time.
    private mutating func replacedMilliseconds(_ end: LinkEnd, upMilliseconds: Int) -> UInt32 {
        let pause = Limits.replacedPauseMilliseconds
        if upMilliseconds >= pause.most { replacements = 0 }
        guard end.isReplacement else { return 0 }
        defer { replacements += 1 }
        return UInt32(min(pause.least << min(replacements, 20), pause.most))
    }
}

import PostriderNotifications

/// Decides which of many returning devices are let in now, and when the others may come back.
///
/// The queue of a device that was away for long is on the disk, and the ledger that reads it is the one that providers
/// wait for. So a shard has *places* for reads that are under way. While all are taken, a device with waiting
/// notifications is told a *return slot*. Slots follow each other at the rate at which reads have been ending, so that
/// each device finds a place when it returns, and not all return at once. Devices without waiting notifications are
/// always let in; what they cost is the handshake, which ``Transport/HandshakeLimiter`` limits.
///
/// Pure: time is monotonic nanoseconds and comes in as an argument.
struct ReconnectThrottle {
    /// How many reads may be under way when another device is let in.
    private(set) var places: Int
    /// When the reads under way began, the oldest first: the ledger answers in the order of the questions.
    private var fetches: [UInt64] = []
    /// A moving average of the time that a read takes; each new one counts for an eighth.
    private var usualFetch: UInt64 = 10_000_000
    /// The last slot that was assigned.
    private var lastSlot: UInt64 = 0
    /// How many devices were told to come back later.
    private(set) var deferred: UInt64 = 0

    /// A throttle with this many places.
    init(places: Int = Limits.fetches.usual) {
        precondition(places > 0, "somebody is let in")
        self.places = places
    }

    /// Replaces the number of places. Reads that are under way go on.
    mutating func change(places: Int) {
        precondition(places > 0, "somebody is let in")
        self.places = places
    }

    /// How many reads are under way.
    var fetchCount: Int { fetches.count }

    /// A read for a device has begun.
    mutating func began(now: UInt64) { fetches.append(now) }

    /// The ledger has answered the oldest read.
    mutating func ended(now: UInt64) {
        guard !fetches.isEmpty else { preconditionFailure("an answer has a question") }
        let took = now - min(fetches.removeFirst(), now)
        usualFetch = max(usualFetch - usualFetch / 8 + took / 8, 1)
    }

    /// The milliseconds after which a device with waiting notifications may come back; nil if it is let in now.
    mutating func slot(now: UInt64) -> UInt32? {
        guard fetches.count >= places else { return nil }
        deferred += 1
        let least = now + UInt64(Limits.slotMilliseconds.least) * 1_000_000
        let most = now + UInt64(Limits.slotMilliseconds.most) * 1_000_000
        lastSlot = min(max(lastSlot + max(usualFetch / UInt64(places), 1), least), most)
        return UInt32((lastSlot - now) / 1_000_000)
    }
}

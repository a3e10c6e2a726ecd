import PostriderNotifications

/// Who of the devices that return at once is let in now, and when the others may come back.
///
/// A device that was away for long has its queue on the disk, and the ledger that fetches it is the one that
/// providers wait for. So a shard has *places* for fetches that are under way. While they are taken, a device for
/// which something waits is given a *slot*: slots follow each other as fast as fetches have been seen to end, so that
/// whoever returns finds a place, and not everybody returns at once. Devices for which nothing waits are always let
/// in; what they cost is the handshake, of which ``Transport/HandshakeLimiter`` keeps count.
///
/// Pure: time is monotonic nanoseconds and comes in as an argument.
struct ReconnectThrottle {
    /// Fetches that may be under way when one more device is let in.
    private let places: Int
    /// When the fetches that are under way began, oldest first: the ledger answers in the order of the questions.
    private var fetches: [UInt64] = []
    /// What a fetch takes, from question to answer: each new one counts for an eighth.
    private var usualFetch: UInt64 = 10_000_000
    /// The last slot that was given out.
    private var lastSlot: UInt64 = 0
    /// Devices that were told to come back.
    private(set) var deferred: UInt64 = 0

    /// Admittance with so many places.
    init(places: Int = Limits.fetches.usual) {
        precondition(places > 0, "somebody is let in")
        self.places = places
    }

    /// The number of fetches that are under way.
    var fetchCount: Int { fetches.count }

    /// Something is being fetched for a device.
    mutating func began(now: UInt64) { fetches.append(now) }

    /// The ledger has answered the oldest question.
    mutating func ended(now: UInt64) {
        guard !fetches.isEmpty else { preconditionFailure("an answer has a question") }
        let took = now - min(fetches.removeFirst(), now)
        usualFetch = max(usualFetch - usualFetch / 8 + took / 8, 1)
    }

    /// Milliseconds after which a device for which something waits may come back; nil: it is let in now.
    mutating func slot(now: UInt64) -> UInt32? {
        guard fetches.count >= places else { return nil }
        deferred += 1
        let least = now + UInt64(Limits.slotMilliseconds.least) * 1_000_000
        let most = now + UInt64(Limits.slotMilliseconds.most) * 1_000_000
        lastSlot = min(max(lastSlot + max(usualFetch / UInt64(places), 1), least), most)
        return UInt32((lastSlot - now) / 1_000_000)
    }
}

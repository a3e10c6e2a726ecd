import PostriderNotifications
import RelayFixtures

/// A push of a ``NodesWorld``, with all attempts to post it.
struct NodesWorldPush {
    let number: Int32
    let device: Int
    /// A newer one of the same identifier replaces it.
    let collapse: String?
    let expiration: Expiration
    /// Whether it is stored until it is delivered or replaced.
    let isKept: Bool
    /// Whether it is a message of Web Push, and whether its sender wants a receipt.
    let isWeb: Bool
    var wantsReceipt = false
    /// The addresses of its message and of its receipts, once its sender knows them.
    var promise: (message: String, receipts: String)?
    /// The events in which it was posted first, and was answered 200.
    let postedAt: Int
    var acceptedAt: Int?
    /// The attempt without an answer.
    var attempt: (node: FixtureNode, number: Int32)?
    /// The numbers of the first and the last attempt, and where the last one was made.
    var first: Int32 = 0
    var last: Int32 = 0
    var place: (node: FixtureNode, shard: Int)?

    var identity: NotificationIdentity { NotificationIdentity(high: 1, low: UInt64(number)) }

    /// What is posted.
    func notification(for device: DeviceIdentity) -> Notification {
        Samples.notification(UInt64(number), expiration: expiration, collapse: collapse, device: device)
    }

    /// Whether this push was posted before another one over the same connection, and both were posted only once.
    func leads(_ other: NodesWorldPush) -> Bool {
        guard isWeb == other.isWeb, first == last, other.first == other.last, first < other.first, let place,
            let there = other.place
        else { return false }
        return place.node === there.node && place.shard == there.shard
    }

    /// Whether this push was answered with 200 before another one was posted.
    func precedes(_ other: NodesWorldPush) -> Bool { acceptedAt ?? .max < other.postedAt }

    /// Whether another one replaces this push, or this one the other, if one waits when the other comes.
    func collapses(with other: NodesWorldPush) -> Bool {
        collapse != nil && collapse == other.collapse && isWeb == other.isWeb && device == other.device
            && number != other.number
    }
}

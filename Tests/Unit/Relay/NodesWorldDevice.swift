import PostriderNotifications
import RelayFixtures

@testable import PostriderRelay

/// A device of a ``NodesWorld``.
final class NodesWorldDevice {
    let identity: DeviceIdentity
    /// What it got, in the order of first arrivals.
    private(set) var arrived: [NotificationIdentity] = []
    private var known: Set<NotificationIdentity> = []
    private(set) var session: FixtureSession?
    private var node: FixtureNode?

    init(_ identity: DeviceIdentity) { self.identity = identity }

    /// Connects at the node that serves it; nothing happens if none does.
    func connect(among nodes: [FixtureNode]) {
        guard session == nil, let node = nodes.first(where: { $0.isAwake && $0.serves(identity) }) else {
            return
        }
        let session = FixtureSession()
        // It may get something before the connecting is over.
        session.onDelivery = { [unowned self] in
            if known.insert($0).inserted { arrived.append($0) }
        }
        guard node.connect(identity, session) else { return }
        self.session = session
        self.node = node
    }

    /// Acknowledges the first deliveries.
    func acknowledge(_ portion: (Int) -> Int) {
        guard let session, let node, node.isAwake else { return }
        let some = FixtureNode.take(&session.unacknowledged, portion)
        if !some.isEmpty { node.acknowledge(some, identity, session) }
    }

    /// Closes the connection. The node hears of that when it runs.
    func leave() {
        guard let session, let node else { return }
        session.isGone = true
        let identity = identity
        node.whenAwake { node.disconnected(identity, session) }
        self.session = nil
        self.node = nil
    }

    /// Leaves if its node has ended, or has said goodbye.
    func lookAround() {
        guard let session, let node else { return }
        if !node.isAlive || !session.goodbyes.isEmpty { leave() }
    }

    func has(_ number: Int32) -> Bool { known.contains(Self.identity(number)) }

    static func identity(_ number: Int32) -> NotificationIdentity {
        NotificationIdentity(high: 1, low: UInt64(number))
    }
}

/// A push of a ``NodesWorld``, with all attempts to post it.
struct NodesWorldPush {
    let number: Int32
    let device: Int
    /// The events in which it was posted first, and was answered 200.
    let postedAt: Int
    var acceptedAt: Int?
    /// The attempt without an answer.
    var attempt: (node: FixtureNode, number: Int32)?
    /// The numbers of the first and the last attempt, and where the last one was made.
    var first: Int32 = 0
    var last: Int32 = 0
    var place: (node: FixtureNode, shard: Int)?

    /// Whether this push was posted before another one over the same connection, and both were posted only once.
    func leads(_ other: NodesWorldPush) -> Bool {
        guard first == last, other.first == other.last, first < other.first, let place,
            let there = other.place
        else { return false }
        return place.node === there.node && place.shard == there.shard
    }
}

import PostriderCluster
import PostriderNotifications

/// The messages of a shard to other shards and to the ledger. They are collected during a turn and posted at its end,
/// with one lock for each receiver.
///
/// A full mailbox takes as many as it has room for; the rest waits here for the next turn. While messages to a shard
/// wait, ``isCongested(_:)`` makes new pushes to it get 429, so that nothing is queued without bound.
final class Outbox {
    /// Takes as many messages as there is room for, in order, and leaves the others. Returns whether it took all.
    typealias Post<Message> = (inout [Message]) -> Bool

    private let ownIndex: Int?
    private let shards: [Post<ShardMessage>]
    private let ledger: Post<LedgerCommand>
    private let nodes: Post<NodeMessage>?
    private var toShards: [[ShardMessage]]
    private var toLedger: [LedgerCommand] = []
    private var toNodes: [NodeMessage] = []
    /// Where devices have their homes; nil without a cluster, where all have them on this relay.
    var places: PartitionPlaces?
    private let serving: ServingTime?

    /// The outbox of shard `ownIndex`; nil for the ledger or the trace. `nodes` takes messages for other nodes, and
    /// `serving` is the time of this one; nil without a cluster.
    init(
        ownIndex: Int?, shards: [Post<ShardMessage>], ledger: @escaping Post<LedgerCommand>,
        nodes: Post<NodeMessage>? = nil, serving: ServingTime? = nil
    ) {
        precondition(ownIndex.map(shards.indices.contains) ?? true, "a shard is one of the shards")
        self.ownIndex = ownIndex
        self.shards = shards
        self.ledger = ledger
        self.nodes = nodes
        self.serving = serving
        toShards = Array(repeating: [], count: shards.count)
    }

    /// The number of shards.
    var shardCount: Int { shards.count }

    /// The place of the home of a device, on this node or another one; nil while no node that can be reached serves it.
    func place(of device: DeviceIdentity) -> Int? {
        place(of: Partition(of: device), shard: device.home(among: shardCount))
    }

    /// The place of the home of an app's channels, in the same way.
    func place(of owner: ChannelOwner) -> Int? {
        place(of: Partition(of: owner), shard: owner.home(among: shardCount))
    }

    /// The place of the homes in a partition: this shard if they are on this node.
    func place(of partition: Partition, shard: Int) -> Int? {
        switch places?.place(of: partition) {
        case nil, .here: shard
        case .node(let link): ShardPlace(link: link).number
        case .moving, .nowhere: nil
        }
    }

    /// Whether another node may serve a device, or none does, at this moment of the monotonic clock.
    func isElsewhere(_ device: DeviceIdentity, at now: UInt64) -> Bool {
        isElsewhere(Partition(of: device), at: now)
    }

    /// Whether another node may decide about the channels of an app, or none does, at this moment.
    func isElsewhere(_ owner: ChannelOwner, at now: UInt64) -> Bool {
        isElsewhere(Partition(of: owner), at: now)
    }

    /// Whether another node may serve a partition, or none does, at this moment.
    func isElsewhere(_ partition: Partition, at now: UInt64) -> Bool {
        if let serving, !serving.includes(now) { return true }
        guard let places else { return false }
        return places.place(of: partition) != .here
    }

    /// Whether messages to this place (a ``ShardPlace``) or to the ledger wait because a mailbox is full.
    func isCongested(_ place: Int) -> Bool {
        let waiting = toShards.indices.contains(place) ? toShards[place].count : toNodes.count
        return waiting >= Limits.mailboxMessages || toLedger.count >= Limits.mailboxMessages
    }

    /// Adds a message to a place (a ``ShardPlace``): a shard, which may be this one, or another node.
    func send(_ message: ShardMessage, to place: Int) {
        guard toShards.indices.contains(place) else {
            precondition(nodes != nil && ShardPlace(place).link != nil, "a shard is one of the shards")
            return toNodes.append(NodeMessage(message: message, place: ShardPlace(place)))
        }
        toShards[place].append(message)
    }

    /// Adds a message to every shard, including this one.
    func sendToAll(_ message: ShardMessage) {
        for shard in toShards.indices { toShards[shard].append(message) }
    }

    /// Adds a message to every shard of this node, and to every other node that can be reached and serves devices.
    func sendToAllNodes(_ message: ShardMessage) {
        sendToAll(message)
        for link in places?.links ?? [] { send(message, to: ShardPlace(link: link).number) }
    }

    /// Adds a command to the ledger.
    func send(_ message: LedgerCommand) {
        toLedger.append(message)
    }

    /// Moves out the messages of the shard to itself, which need no mailbox.
    func takeOwn(into messages: inout [ShardMessage]) {
        guard let ownIndex else { return }
        swap(&messages, &toShards[ownIndex])
    }

    /// Posts everything that is addressed to others. Returns whether nothing is left.
    func post() -> Bool {
        var isEmpty = toLedger.isEmpty || ledger(&toLedger)
        if !toNodes.isEmpty, let nodes { isEmpty = nodes(&toNodes) && isEmpty }
        for shard in toShards.indices where shard != ownIndex && !toShards[shard].isEmpty {
            isEmpty = shards[shard](&toShards[shard]) && isEmpty
        }
        return isEmpty
    }
}

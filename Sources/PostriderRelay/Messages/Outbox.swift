import PostriderNotifications

/// The messages of a shard to the others and to the ledger: collected during a turn and posted at its end, with one
/// lock for each addressee.
///
/// A mailbox that is full takes what it has room for; the rest waits here for the next turn, and while
/// anything waits for a shard, ``isCongested(_:)`` lets pushes to it be answered with 429 instead of queued
/// without bound.
final class Outbox {
    /// Takes as many messages as there is room for, in order, and leaves the others. True: took all of them.
    typealias Post<Message> = (inout [Message]) -> Bool

    private let ownIndex: Int?
    private let shards: [Post<ShardMessage>]
    private let ledger: Post<LedgerCommand>
    private var toShards: [[ShardMessage]]
    private var toLedger: [LedgerCommand] = []

    /// The outbox of shard `ownIndex` or, for nil, of the ledger or the trace.
    init(ownIndex: Int?, shards: [Post<ShardMessage>], ledger: @escaping Post<LedgerCommand>) {
        precondition(ownIndex.map(shards.indices.contains) ?? true, "a shard is one of the shards")
        self.ownIndex = ownIndex
        self.shards = shards
        self.ledger = ledger
        toShards = Array(repeating: [], count: shards.count)
    }

    /// The number of shards.
    var shardCount: Int { shards.count }

    /// Whether messages to this shard, or to the ledger, are waiting for room.
    func isCongested(_ shard: Int) -> Bool {
        toShards[shard].count >= Limits.letters || toLedger.count >= Limits.letters
    }

    /// Addresses a message to a shard, perhaps the own one.
    func send(_ message: ShardMessage, to shard: Int) {
        toShards[shard].append(message)
    }

    /// Addresses a message to every shard, the own one included.
    func sendToAll(_ message: ShardMessage) {
        for shard in toShards.indices { toShards[shard].append(message) }
    }

    /// Addresses a message to the ledger.
    func send(_ message: LedgerCommand) {
        toLedger.append(message)
    }

    /// Takes the messages of the shard to itself: they need no mailbox.
    func takeOwn(into messages: inout [ShardMessage]) {
        guard let ownIndex else { return }
        swap(&messages, &toShards[ownIndex])
    }

    /// Posts everything that is addressed to others. True: nothing is left.
    func post() -> Bool {
        var isEmpty = toLedger.isEmpty || ledger(&toLedger)
        for shard in toShards.indices where shard != ownIndex && !toShards[shard].isEmpty {
            isEmpty = shards[shard](&toShards[shard]) && isEmpty
        }
        return isEmpty
    }
}

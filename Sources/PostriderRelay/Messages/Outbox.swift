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
    private var toShards: [[ShardMessage]]
    private var toLedger: [LedgerCommand] = []

    /// The outbox of shard `ownIndex`; nil for the ledger or the trace.
    init(ownIndex: Int?, shards: [Post<ShardMessage>], ledger: @escaping Post<LedgerCommand>) {
        precondition(ownIndex.map(shards.indices.contains) ?? true, "a shard is one of the shards")
        self.ownIndex = ownIndex
        self.shards = shards
        self.ledger = ledger
        toShards = Array(repeating: [], count: shards.count)
    }

    /// The number of shards.
    var shardCount: Int { shards.count }

    /// Whether messages to this shard or to the ledger wait because its mailbox is full.
    func isCongested(_ shard: Int) -> Bool {
        toShards[shard].count >= Limits.mailboxMessages || toLedger.count >= Limits.mailboxMessages
    }

    /// Adds a message to a shard, which may be this one.
    func send(_ message: ShardMessage, to shard: Int) {
        toShards[shard].append(message)
    }

    /// Adds a message to every shard, including this one.
    func sendToAll(_ message: ShardMessage) {
        for shard in toShards.indices { toShards[shard].append(message) }
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
        for shard in toShards.indices where shard != ownIndex && !toShards[shard].isEmpty {
            isEmpty = shards[shard](&toShards[shard]) && isEmpty
        }
        return isEmpty
    }
}

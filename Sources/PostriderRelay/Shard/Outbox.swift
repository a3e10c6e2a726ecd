import PostriderNotifications

/// A shard's way to everybody else: letters are collected during a turn and posted at its end, one lock for
/// each addressee.
///
/// A mailbox that is full takes what it has room for; the rest waits here for the next turn, and while
/// anything waits for a shard, ``isCongested(_:)`` lets pushes to it be answered with 429 instead of queued
/// without bound.
final class Outbox {
    /// Takes as many letters as there is room for, in order, and leaves the others. True: took all of them.
    typealias Post<ShardMessage> = (inout [ShardMessage]) -> Bool

    private let ownIndex: Int?
    private let shards: [Post<ShardMessage>]
    private let ledger: Post<LedgerCommand>
    private var toShards: [[ShardMessage]]
    private var toLedger: [LedgerCommand] = []

    /// The switchboard of shard `ownIndex`, or, for nil, of the ledger.
    init(ownIndex: Int?, shards: [Post<ShardMessage>], ledger: @escaping Post<LedgerCommand>) {
        precondition(ownIndex.map(shards.indices.contains) ?? true, "a shard is one of the shards")
        self.ownIndex = ownIndex
        self.shards = shards
        self.ledger = ledger
        toShards = Array(repeating: [], count: shards.count)
    }

    /// The number of shards.
    var shardCount: Int { shards.count }

    /// Whether letters for this shard, or for the ledger, are waiting for room.
    func isCongested(_ shard: Int) -> Bool {
        toShards[shard].count >= Limits.letters || toLedger.count >= Limits.letters
    }

    /// Addresses a letter to a shard, perhaps the own one.
    func send(_ letter: ShardMessage, to shard: Int) {
        toShards[shard].append(letter)
    }

    /// Addresses a letter to every shard, the own one included.
    func sendToAll(_ letter: ShardMessage) {
        for shard in toShards.indices { toShards[shard].append(letter) }
    }

    /// Addresses a letter to the ledger.
    func send(_ letter: LedgerCommand) {
        toLedger.append(letter)
    }

    /// The letters that the shard has addressed to itself since it last asked: they need no mailbox.
    func takeOwn(into letters: inout [ShardMessage]) {
        guard let ownIndex else { return }
        swap(&letters, &toShards[ownIndex])
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

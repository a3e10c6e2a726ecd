/// The operator's questions to all shards, and to all nodes of the cluster, whose replies are not complete.
final class ShardQueries {
    private struct Query {
        var missing: Int
        var replies: [ShardReply] = []
        let then: ([ShardReply]) -> Void
    }

    private let context: ShardContext
    /// Asks the other nodes, on shard 0.
    let nodes: NodeQueries
    private var waiting: [UInt64: Query] = [:]

    init(_ context: ShardContext) {
        self.context = context
        nodes = NodeQueries(context)
    }

    /// Asks every shard; calls `then` when all have replied.
    func ask(_ question: ShardQuestion, then: @escaping ([ShardReply]) -> Void) {
        let id = context.drawNumber()
        waiting[id] = Query(missing: context.outbox.shardCount, then: then)
        context.outbox.sendToAll(.control(.question(question, id: id, asker: context.index)))
    }

    /// Adds one shard's reply.
    func collect(_ reply: ShardReply, _ id: UInt64) {
        guard var query = waiting.removeValue(forKey: id) else { return }
        query.replies.append(reply)
        query.missing -= 1
        if query.missing == 0 {
            query.then(query.replies)
        } else {
            waiting[id] = query
        }
    }
}

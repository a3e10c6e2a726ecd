import PostriderNotifications
import PostriderTransport

/// The mailboxes of all threads of a relay.
final class RelayMailboxes: Sendable {
    /// Connections that one shard passes to another.
    let transit = ConnectionsInTransit()
    /// Collects the shards' reports for metrics.
    let measurements = RelayMeasurements()
    /// The presence of devices.
    let presence = PresenceExchange(
        startedAt: Moment(milliseconds: EventLoop.realtimeMilliseconds))
    let shards: [Mailbox<ShardMessage>]
    let ledger: Mailbox<LedgerCommand>
    let trace: Mailbox<TraceRequest>
    let programs: Mailbox<PresenceThread.Message>
    /// Those of a node of a cluster; nil without a cluster.
    let node: NodeMailboxes?

    init(shards count: Int, isNode: Bool = false) throws(TransportError) {
        var shards: [Mailbox<ShardMessage>] = []
        for _ in 0..<count { shards.append(try Mailbox(capacity: Limits.mailboxMessages)) }
        self.shards = shards
        ledger = try Mailbox(capacity: Limits.mailboxMessages)
        trace = try Mailbox(capacity: Limits.traceMessages)
        programs = try Mailbox(capacity: Limits.presenceMessages)
        node = isNode ? try NodeMailboxes() : nil
    }

    /// The outbox of a shard; nil for the ledger or the trace.
    func outbox(ofShard index: Int?) -> Outbox {
        let outbox = Outbox(
            ownIndex: index,
            shards: shards.map { mailbox in { mailbox.post(contentsOf: &$0) } },
            ledger: { [ledger] in ledger.post(contentsOf: &$0) },
            nodes: node.map { node in { node.messages.post(contentsOf: &$0) } },
            serving: node?.serving
        )
        // Until the node's thread says where devices have their homes.
        if node != nil { outbox.places = .unknown }
        return outbox
    }

    /// Posts one of the rare messages about new settings and the relay's end, even if mailboxes are full.
    func postToAllShards(_ message: ShardMessage) {
        for mailbox in shards { mailbox.postEvenIfFull(message) }
    }
}

import PostriderCluster
import PostriderNotifications
import PostriderTransport

/// What the thread of a node hears from other threads of its relay.
enum NodeEvent: Sendable {
    /// From the thread of the membership: the answer of the database to the request under way, and what has failed.
    case answered(MembershipAnswer, StoreError?)
    /// From the thread of the membership, before the answer to a successful join: by what the ledger opens its store.
    case claimed(MemberClaim)
    /// From the ledger: it has read these partitions, and given them to the shards.
    case taken(Set<Partition>)
    /// From the ledger: it could not read these partitions.
    case notTaken(Set<Partition>, StoreError)
    /// From a shard: it has forgotten the devices of the partitions of this ticket.
    case left(ticket: UInt64)
    /// From shard 0: the shards have what every node has as of this version.
    case renewed(version: Int64)
    /// The shards run: partitions can be taken.
    case ready
    /// The operator wants the node to give its partitions away, and to stay a member.
    case drain
    /// The relay stops: give all partitions away, then end the membership.
    case leave
    /// Nobody sends messages any more: close the links, and end the loop.
    case stop
}

/// The mailboxes of a node of a cluster.
final class NodeMailboxes: Sendable {
    /// Messages of shards for other nodes.
    let messages: Mailbox<NodeMessage>
    /// Events for the thread of the node.
    let events: Mailbox<NodeEvent>
    /// Requests for the thread of the membership; nil ends it. There is one at a time.
    let requests: Mailbox<MembershipRequest?>
    /// Until when the node serves.
    let serving = ServingTime(until: 0)
    /// The cluster as the node sees it, for its operator.
    let reports = NodeReports()

    init() throws(TransportError) {
        messages = try Mailbox(capacity: Limits.mailboxMessages)
        events = try Mailbox(capacity: Limits.mailboxMessages)
        requests = try Mailbox(capacity: 1)
    }
}

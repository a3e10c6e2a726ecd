import PostriderChannels
import PostriderCluster
import PostriderNotifications

/// Where a shard sends a message: to a shard of its own node, or to another node.
///
/// A place is one number, which is also the shard of a ``ReplyAddress``. So an answer finds the way back of its
/// request without knowing whether that goes through another node: below ``Limits/shardsOfNode`` it is a shard of this
/// node, and above it a link and a shard of the node at its other end.
struct ShardPlace: Hashable {
    /// The number.
    let number: Int

    /// A place by its number.
    init(_ number: Int) { self.number = number }

    /// A shard of the node at the other end of a link.
    init(link: Int, shard: Int = 0) {
        precondition((1..<Limits.nodeLinkNumbers).contains(link), "links are numbered from 1")
        precondition((0..<Limits.shardsOfNode).contains(shard), "a node has fewer shards than that")
        number = link * Limits.shardsOfNode + shard
    }

    /// The link that leads there; nil for a shard of this node.
    var link: Int? { number < Limits.shardsOfNode ? nil : number / Limits.shardsOfNode }

    /// The shard on its node.
    var shard: Int { number % Limits.shardsOfNode }
}

extension ReplyAddress {
    /// This address, as the node at the other end of a link has to name it here.
    func through(_ link: Int) -> ReplyAddress {
        let place = ShardPlace(link: link, shard: Int(shard))
        return ReplyAddress(shard: Int32(place.number), stream: stream, connection: connection)
    }

    /// This address, as the node of the shard names it.
    var withoutLink: ReplyAddress {
        let shard = ShardPlace(Int(shard)).shard
        return ReplyAddress(shard: Int32(shard), stream: stream, connection: connection)
    }
}

extension SubscriptionRequest {
    /// This request, as the node at the other end of a link has to answer it here.
    func through(_ link: Int) -> SubscriptionRequest { at(ShardPlace(link: link, shard: shard).number) }

    /// This request, as the node of the device knows it.
    var withoutLink: SubscriptionRequest { at(ShardPlace(shard).shard) }

    private func at(_ shard: Int) -> SubscriptionRequest {
        SubscriptionRequest(
            channel: channel, owner: owner, wish: wish, shard: shard, connection: connection, ticket: ticket)
    }
}

/// A message of a shard for another node.
struct NodeMessage: Sendable {
    let message: ShardMessage
    let place: ShardPlace
}

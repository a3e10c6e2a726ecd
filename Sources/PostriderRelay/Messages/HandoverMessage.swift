import PostriderChannels
import PostriderCluster
import PostriderNotifications
import PostriderWebPush

/// A request of a provider, or of a sender of Web Push, that waits until a node serves its device, or decides about its
/// channel.
struct WaitingRequest: Sendable {
    /// What the provider wants.
    enum Content: Sendable {
        /// To deliver a push.
        case push(Notification)
        /// To do something with the channels of an app.
        case order(ChannelCommand, ChannelOwner)
        /// What a sender of Web Push wants.
        case web(SenderRequest)
    }

    /// How a request is answered.
    enum Kind: Sendable {
        /// Like a push.
        case push
        /// Like a request about channels.
        case order
        /// As a sender's request that carries no message.
        case web
    }

    let content: Content
    /// Where its answer goes. It is answered once.
    let address: ReplyAddress
    /// For how many milliseconds it has waited on other shards.
    var waited: UInt32 = 0

    init(_ content: Content, _ address: ReplyAddress) { (self.content, self.address) = (content, address) }

    /// How it is answered.
    var kind: Kind {
        switch content {
        case .push: .push
        case .order: .order
        case .web(let request): request.isMessage ? .push : .web
        }
    }

    /// The partition of the device or of the app's channels.
    var partition: Partition {
        switch content {
        case .push(let notification): Partition(of: notification.device)
        case .order(_, let owner): Partition(of: owner)
        case .web(let request): Partition(of: request.subject)
        }
    }

    /// The bytes of the payload.
    var byteCount: Int {
        switch content {
        case .push(let notification): notification.payload.count
        case .order(.broadcast(let broadcast, _, _), _): broadcast.payload.count
        case .order: 0
        case .web(let request): request.byteCount
        }
    }

    /// The index of the home, among the shards of the node that has the partition.
    func home(among shards: Int) -> Int {
        switch content {
        case .push(let notification): notification.device.home(among: shards)
        case .order(_, let owner): owner.home(among: shards)
        case .web(let request): request.subject.home(among: shards)
        }
    }

    /// The message to the home that carries the request.
    var message: ShardMessage {
        guard waited == 0 else { return .handover(.again(self)) }
        switch content {
        case .push(let notification): return .push(.deliver(notification, address))
        case .order(let order, let owner): return .channel(.order(order, owner, address))
        case .web(let request): return .web(.request(request, address))
        }
    }

    /// The answer that refuses the request.
    func refusal(_ reason: Rejection) -> ShardMessage { kind.refusal(reason, for: address) }

    /// The same request, whose answer goes to another address.
    func at(_ address: ReplyAddress) -> WaitingRequest {
        var request = WaitingRequest(content, address)
        request.waited = waited
        return request
    }
}

extension WaitingRequest.Kind {
    /// The answer that refuses a request of this kind.
    func refusal(_ reason: Rejection, for address: ReplyAddress) -> ShardMessage {
        switch self {
        case .push: .push(.answer(address, .rejected(reason)))
        case .order: .channel(.answer(address, .rejected(reason)))
        case .web: .web(.refused(WebPushRejection(reason), address))
        }
    }
}

/// The messages about providers' requests while partitions move from one node to another.
///
/// The shard of a provider sends nothing to the new home of a partition before every shard of the former home has said
/// that nothing is left there. So requests of one connection stay in their order.
enum HandoverMessage: Sendable {
    /// To the home: a request that has waited.
    case again(WaitingRequest)
    /// To the shards of a former home: return the requests that have come from this place (a ``ShardPlace``) and wait
    /// there for these partitions.
    case recall(Set<Partition>, place: Int, ticket: UInt64)
    /// To the provider's shard, before the answer to its recall: a request that has waited at the former home.
    case returned(WaitingRequest)
    /// To the provider's shard (a ``ShardPlace``), from each shard of the former home: nothing is left for the recall
    /// of this ticket. So many shards say so.
    case recalled(place: Int, ticket: UInt64, shards: Int)
}

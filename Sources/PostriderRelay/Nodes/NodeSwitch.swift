import PostriderChannels
import PostriderCourier
import PostriderNotifications

/// Passes messages between the shards of this node and other nodes. It has no I/O: whoever owns it sends the bytes.
///
/// Each push for another node is answered exactly once: by that node, or with 503 when the link to it ends first. Then
/// nobody knows whether the push was accepted there, and its provider sends it again with the same `apns-id`.
///
/// What devices at an edge say is not answered. If a node cannot take a message of a device, the device's session ends
/// on both sides, because a message that is left out must not be followed by others.
final class NodeSwitch {
    /// What a switch needs of its surroundings.
    struct Surroundings {
        /// The number of this node's shards.
        let shardCount: Int
        /// Posts a message to a shard. Returns false if its mailbox is full.
        let post: (ShardMessage, _ shard: Int) -> Bool
        /// Posts an answer to a shard even if its mailbox is full: a shard asks for as many as it can take.
        let postAnswer: (ShardMessage, _ shard: Int) -> Void
        /// Whether a link takes another request.
        let takesRequest: (_ link: Int) -> Bool
        /// Sends bytes over a link; nothing happens if it has ended.
        let send: ([UInt8], _ link: Int) -> Void
    }

    let around: Surroundings
    /// The requests that wait for an answer over each link that this node has opened.
    var waiting: [Int: [ReplyAddress: WaitingRequest.Kind]] = [:]
    var counters = NodeTraffic()

    init(_ surroundings: Surroundings) { around = surroundings }

    // MARK: Links

    /// A link to another node is open, over which requests may be sent.
    func opened(_ link: Int) { waiting[link] = [:] }

    /// A link to another node has ended: the requests under way are answered.
    func ended(_ link: Int) {
        guard let lost = waiting.removeValue(forKey: link) else { return }
        // In an order that does not depend on hashes, because the same seed has to lead to the same run.
        let inOrder = lost.sorted {
            ($0.key.shard, $0.key.connection, $0.key.stream) < (
                $1.key.shard, $1.key.connection, $1.key.stream
            )
        }
        for (address, kind) in inOrder {
            if kind == .push { counters.lost += 1 }
            around.postAnswer(kind.refusal(.serviceUnavailable, for: address), Int(address.shard))
        }
    }

    // MARK: From shards

    /// Sends a shard's message to another node.
    func pass(_ outgoing: NodeMessage) {
        guard let link = outgoing.place.link else {
            preconditionFailure("a message for a shard of this node needs no link")
        }
        switch outgoing.message {
        case .push(.deliver(let notification, let address)):
            pass(WaitingRequest(.push(notification), address), over: link)
        case .push(.answer(let address, let result)):
            send(.push(.answer(address.withoutLink, result)), over: link)
        case .edge(let message): pass(message, over: link)
        case .channel(let message): pass(message, over: link)
        case .web(let message): pass(message, over: link)
        case .nodeQuery(let message): pass(message, over: link)
        case .handover(let message): pass(message, over: link)
        default: preconditionFailure("messages of this kind do not leave the node yet")
        }
    }

    /// Whether a link takes another request that is answered.
    func hasRoom(_ link: Int) -> Bool {
        takesRequest(link) && waiting[link]?.count ?? 0 < Limits.nodeRequests
    }

    /// Whether a link takes another request.
    func takesRequest(_ link: Int) -> Bool { waiting[link] != nil && around.takesRequest(link) }

    /// Sends a message over a link.
    func send(_ message: ShardMessage, over link: Int) {
        do throws(CourierError) {
            guard let bytes = try message.encoded() else {
                preconditionFailure("what leaves a node can be encoded")
            }
            around.send(bytes, link)
        } catch {
            preconditionFailure("what leaves a node is smaller than a message may be: \(error)")
        }
    }

    // MARK: From nodes

    /// Another node has sent a message over a link.
    ///
    /// - Throws: an error that ends the link, if the node does not keep to the protocol.
    func receive(_ bytes: Span<UInt8>, from link: Int) throws(CourierError) {
        switch try ShardMessage(decoding: bytes) {
        case .push(.deliver(let notification, let address)):
            try checkRequest(address, link)
            counters.received += 1
            let here = address.through(link)
            let home = notification.device.home(among: around.shardCount)
            guard around.post(.push(.deliver(notification, here)), home) else {
                return send(.push(.answer(address, .rejected(.tooManyRequests))), over: link)
            }
        case .push(.answer(let address, let result)):
            try settle(address, .push, over: link)
            around.postAnswer(.push(.answer(address, result)), Int(address.shard))
        case .edge(let message): try receive(message, from: link)
        case .channel(let message): try receive(message, from: link)
        case .web(let message): try receive(message, from: link)
        case .nodeQuery(let message): try receive(message, from: link)
        case .handover(let message): try receive(message, from: link)
        default: throw .outOfOrder("Messages of this kind are not sent between nodes.")
        }
    }

    /// The request of an address is answered over a link, or comes back.
    func settle(
        _ address: ReplyAddress, _ kind: WaitingRequest.Kind, over link: Int
    ) throws(CourierError) {
        let known = waiting[link]?.removeValue(forKey: address)
        guard known == kind else {
            waiting[link]?[address] = known
            throw .outOfOrder("An answer comes for a request that was not sent, or was answered.")
        }
    }

    /// Checks a request of another node: it has opened the link, and the address is one that a node can have.
    func checkRequest(_ address: ReplyAddress, _ link: Int) throws(CourierError) {
        try checkRequest(ofShard: Int(address.shard), link)
    }

    /// Checks a request that comes from this shard of another node.
    func checkRequest(ofShard shard: Int, _ link: Int) throws(CourierError) {
        guard waiting[link] == nil else {
            throw .outOfOrder("A node sends requests over the link that it has opened.")
        }
        guard (0..<Limits.shardsOfNode).contains(shard) else {
            throw .outOfOrder("A request comes from a shard that a node cannot have.")
        }
    }

    /// Checks a message for a shard of this node that has asked for it: this node has opened the link.
    func checkAnswer(forShard shard: Int, _ link: Int) throws(CourierError) {
        guard waiting[link] != nil else {
            throw .outOfOrder("A node answers over the link that the other one has opened.")
        }
        guard (0..<around.shardCount).contains(shard) else {
            throw .outOfOrder("A message is for a shard that this node does not have.")
        }
    }
}

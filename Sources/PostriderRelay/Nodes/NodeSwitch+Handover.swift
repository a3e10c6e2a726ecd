import PostriderCourier
import PostriderNotifications

/// Requests of providers while partitions move from one node to another.
extension NodeSwitch {
    /// Sends a message about requests that wait to another node. What a node returns is not under way any more.
    func pass(_ message: HandoverMessage, over link: Int) {
        switch message {
        case .again(let request): pass(request, over: link)
        case .returned(let request):
            send(.handover(.returned(request.at(request.address.withoutLink))), over: link)
        case .recall(_, let place, let ticket):
            guard waiting[link] == nil else { return send(.handover(message), over: link) }
            // The link has ended, and what was sent over it is answered.
            around.postAnswer(.handover(.recalled(place: place, ticket: ticket, shards: 1)), place)
        case .recalled(let place, let ticket, let shards):
            let shard = ShardPlace(place).shard
            send(.handover(.recalled(place: shard, ticket: ticket, shards: shards)), over: link)
        }
    }

    /// Sends a provider's request to another node, or answers it. It goes back to its shard if the link has ended
    /// before: then the shard knows another place by now.
    func pass(_ request: WaitingRequest, over link: Int) {
        guard waiting[link] != nil else {
            return around.postAnswer(.handover(.returned(request)), Int(request.address.shard))
        }
        let kind = request.kind
        guard hasRoom(link) else {
            if kind == .push { counters.refused += 1 }
            return around.postAnswer(request.refusal(.tooManyRequests), Int(request.address.shard))
        }
        waiting[link]?[request.address] = kind
        if kind == .push { counters.sent += 1 }
        send(request.message, over: link)
    }

    /// Gives a message about requests that wait to the shards that it is for.
    func receive(_ message: HandoverMessage, from link: Int) throws(CourierError) {
        switch message {
        case .again(let request):
            try checkRequest(request.address, link)
            let home = request.home(among: around.shardCount)
            if request.kind == .push { counters.received += 1 }
            let here = request.at(request.address.through(link))
            guard !around.post(.handover(.again(here)), home) else { return }
            send(request.refusal(.tooManyRequests), over: link)
        case .returned(let request):
            try settle(request.address, request.kind, over: link)
            around.postAnswer(.handover(message), Int(request.address.shard))
        case .recall(let partitions, let shard, let ticket):
            try checkRequest(ofShard: shard, link)
            let place = ShardPlace(link: link, shard: shard).number
            for home in 0..<around.shardCount {
                around.postAnswer(.handover(.recall(partitions, place: place, ticket: ticket)), home)
            }
        case .recalled(let shard, _, _):
            try checkAnswer(forShard: shard, link)
            around.postAnswer(.handover(message), shard)
        }
    }
}

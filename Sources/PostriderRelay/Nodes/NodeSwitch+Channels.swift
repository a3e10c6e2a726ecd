import PostriderChannels
import PostriderCourier
import PostriderNotifications

/// Channels, whose home may be on another node than their providers and subscribers.
extension NodeSwitch {
    /// Sends a message about channels to another node. Each order of a provider is answered once. A question about a
    /// subscription may get lost: the device's home asks again.
    func pass(_ message: ChannelMessage, over link: Int) {
        switch message {
        case .order(let order, let owner, let address):
            pass(WaitingRequest(.order(order, owner), address), over: link)
        case .answer(let address, let answer):
            send(.channel(.answer(address.withoutLink, answer)), over: link)
        case .subscribe: if takesRequest(link) { send(.channel(message), over: link) }
        case .subscribed(let request, let isKnown, let stored, let row):
            send(.channel(.subscribed(request.withoutLink, isKnown: isKnown, stored, row)), over: link)
        case .broadcast:
            guard takesRequest(link) else { return counters.lostBroadcasts += 1 }
            send(.channel(message), over: link)
        case .removed: if waiting[link] != nil { send(.channel(message), over: link) }
        }
    }

    /// Gives a message about channels to the shard that it is for, or to all.
    func receive(_ message: ChannelMessage, from link: Int) throws(CourierError) {
        switch message {
        case .order(let order, let owner, let address):
            try checkRequest(address, link)
            let home = owner.home(among: around.shardCount)
            guard !around.post(.channel(.order(order, owner, address.through(link))), home) else { return }
            send(.channel(.answer(address, .rejected(.tooManyRequests))), over: link)
        case .answer(let address, let answer):
            try settle(address, .order, over: link)
            around.postAnswer(.channel(.answer(address, answer)), Int(address.shard))
        case .subscribe(let request):
            try checkRequest(ofShard: request.shard, link)
            let home = request.owner.home(among: around.shardCount)
            _ = around.post(.channel(.subscribe(request.through(link))), home)
        case .subscribed(let request, _, _, _):
            try checkAnswer(forShard: request.shard, link)
            around.postAnswer(.channel(message), request.shard)
        case .broadcast:
            try checkRequest(ofShard: 0, link)
            for shard in 0..<around.shardCount where !around.post(.channel(message), shard) {
                counters.lostBroadcasts += 1
            }
        case .removed:
            try checkRequest(ofShard: 0, link)
            for shard in 0..<around.shardCount { around.postAnswer(.channel(message), shard) }
        }
    }
}

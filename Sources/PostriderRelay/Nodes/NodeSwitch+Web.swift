import PostriderCourier
import PostriderNotifications

/// Requests of senders of Web Push, whose devices and receipts may be on another node.
extension NodeSwitch {
    /// Sends a message about Web Push to another node.
    func pass(_ message: WebMessage, over link: Int) {
        switch message {
        case .request(let request, let address): pass(WaitingRequest(.web(request), address), over: link)
        case .accepted(let address, let row, let hasReceipt):
            send(.web(.accepted(address.withoutLink, row, hasReceipt: hasReceipt)), over: link)
        case .receipts(let receipts, let address):
            send(.web(.receipts(receipts, address.withoutLink)), over: link)
        case .removed(let address): send(.web(.removed(address.withoutLink)), over: link)
        case .refused(let rejection, let address):
            send(.web(.refused(rejection, address.withoutLink)), over: link)
        // If it does not arrive, the node that takes the partition next finds it in the store.
        case .receipt: if takesRequest(link) { send(.web(message), over: link) }
        case .findDevice, .found, .arrived: preconditionFailure("shards do not send this to other nodes")
        }
    }

    /// Gives a message about Web Push to the shard that it is for.
    func receive(_ message: WebMessage, from link: Int) throws(CourierError) {
        switch message {
        case .request(let request, let address):
            try checkRequest(address, link)
            let waiting = WaitingRequest(.web(request), address)
            if waiting.kind == .push { counters.received += 1 }
            let home = waiting.home(among: around.shardCount)
            guard !around.post(.web(.request(request, address.through(link))), home) else { return }
            send(waiting.refusal(.tooManyRequests), over: link)
        case .accepted(let address, _, _): try answer(message, address, .push, over: link)
        case .receipts(_, let address), .removed(let address):
            try answer(message, address, .web, over: link)
        case .refused(_, let address):
            guard let kind = waiting[link]?[address], kind != .order else {
                throw .outOfOrder("An answer comes for a request that was not sent, or was answered.")
            }
            try answer(message, address, kind, over: link)
        case .receipt(let receipt):
            try checkRequest(ofShard: 0, link)
            let home = receipt.subscription.identity.home(among: around.shardCount)
            _ = around.post(.web(message), home)
        case .findDevice, .found, .arrived:
            throw .outOfOrder("Messages of this kind are not sent between nodes.")
        }
    }

    private func answer(
        _ message: WebMessage, _ address: ReplyAddress, _ kind: WaitingRequest.Kind, over link: Int
    ) throws(CourierError) {
        try settle(address, kind, over: link)
        around.postAnswer(.web(message), Int(address.shard))
    }
}

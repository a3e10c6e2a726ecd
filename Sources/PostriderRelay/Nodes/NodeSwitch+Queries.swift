import PostriderCourier
import PostriderNotifications

/// Questions for operators and providers, which every node answers for itself.
extension NodeSwitch {
    /// Sends a question to another node, or a piece of an answer. The shard that asks learns by
    /// ``EdgeMessage/linkEnded(link:)`` that nothing more comes over a link.
    func pass(_ message: NodeQuery, over link: Int) {
        switch message {
        case .ask(_, let address), .goOn(let address):
            guard takesRequest(link) else {
                return around.postAnswer(.nodeQuery(.unsent(address.through(link))), Int(address.shard))
            }
            send(.nodeQuery(message), over: link)
        case .answer(let piece, let address):
            send(.nodeQuery(.answer(piece, address.withoutLink)), over: link)
        case .unsent: preconditionFailure("shards do not send this to other nodes")
        }
    }

    /// Gives a question to shard 0, or a piece of an answer to the shard that has asked.
    func receive(_ message: NodeQuery, from link: Int) throws(CourierError) {
        switch message {
        case .ask(let question, let address):
            try checkRequest(address, link)
            take(.ask(question, address.through(link)), address, link)
        case .goOn(let address):
            try checkRequest(address, link)
            take(.goOn(address.through(link)), address, link)
        case .answer(let piece, let address):
            try checkAnswer(forShard: Int(address.shard), link)
            around.postAnswer(.nodeQuery(.answer(piece, address.through(link))), Int(address.shard))
        case .unsent: throw .outOfOrder("Messages of this kind are not sent between nodes.")
        }
    }

    private func take(_ request: NodeQuery, _ address: ReplyAddress, _ link: Int) {
        guard !around.post(.nodeQuery(request), 0) else { return }
        send(.nodeQuery(.answer(.none, address)), over: link)
    }
}

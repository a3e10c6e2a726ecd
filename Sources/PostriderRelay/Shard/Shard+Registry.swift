/// What a shard is told about the registry, and about the partitions of its node.
extension Shard {
    func handle(_ message: RegistryMessage) {
        switch message {
        case .applied(let ticket, let result): changes.applied(ticket, result)
        case .read(let ticket, let result): changes.read(ticket, result)
        case .sharedChanged(let version): changes.whenSharedChanged?(version)
        case .policyChanged:
            context.updatePolicy()
            if !context.quotas.areNone { home.chargeAll() }
            channels.removeForbidden()
        case .placed(let places):
            let former = context.outbox.places
            devices.edges.change(to: places)
            web.edges.placesChanged()
            context.waiting.placesChanged(from: former)
        case .taken(let loaded): moves.take(loaded)
        case .leave(let partitions, let ticket):
            moves.leave(partitions) { [hooks] in hooks.left(ticket) }
        }
    }

    /// Carries out a request that has waited, and whose device or channel has its home here.
    func accept(_ request: WaitingRequest) {
        switch request.content {
        case .push(let notification): home.accept(notification, request.address)
        case .order(let order, let owner): channels.accept(order, of: owner, for: request.address)
        case .web(let wish): web.requests.accept(wish, request.address)
        }
    }

    /// A link to another node has ended.
    func linkEnded(_ link: Int) {
        queries.nodes.linkEnded(link)
        context.waiting.ended(link)
        web.edges.ended(link)
    }

    private var moves: PartitionMoves {
        PartitionMoves(context, home, changes, directory, channels, web.home)
    }
}

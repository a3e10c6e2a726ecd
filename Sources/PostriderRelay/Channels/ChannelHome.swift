import PostriderChannels
import PostriderCluster
import PostriderNotifications
import PostriderProviderAPI

/// The channels whose home is this shard: it handles providers' requests about them, and sends broadcasts to all
/// shards, and to all nodes of a cluster.
final class ChannelHome {
    private let context: ShardContext
    private let changes: RegistryChanges
    var registry = ChannelRegistry()
    /// How many broadcasts were accepted here.
    private(set) var accepted: UInt64 = 0

    init(_ context: ShardContext, _ changes: RegistryChanges) {
        self.context = context
        self.changes = changes
    }

    /// Forgets the channels of partitions that another node is to have.
    func forget(_ partitions: Set<Partition>) {
        registry.forget { partitions.contains(Partition(of: $0)) }
    }

    /// Adds the stored channels whose home this is: all at the start, or those of partitions that the node has taken.
    func restore(_ stored: Registry) {
        for record in stored.channels
        where record.owner.home(among: context.outbox.shardCount) == context.index {
            registry.restore(record)
        }
        for broadcast in stored.broadcasts { registry.restore(broadcast) }
    }

    /// Carries out a provider's request.
    func take(_ order: ChannelCommand, of owner: ChannelOwner, for address: ReplyAddress) {
        // Another node may have sent it before it knew that this one does not decide about the app any more.
        let request = WaitingRequest(.order(order, owner), address)
        if context.waiting.admits(request.partition, request) { accept(order, of: owner, for: address) }
    }

    /// Carries out a provider's request about channels that this node decides about.
    func accept(_ order: ChannelCommand, of owner: ChannelOwner, for address: ReplyAddress) {
        let outbox = context.outbox
        if case .broadcast = order, (0..<outbox.shardCount).contains(where: outbox.isCongested) {
            outbox.send(.channel(.answer(address, .rejected(.tooManyRequests))), to: Int(address.shard))
            return
        }
        let random = context.random
        perform {
            registry.handle(
                order, of: owner, for: address, now: context.now,
                draw: { ChannelIdentity(high: random.next(), low: random.next()) }, &$0)
        }
    }

    /// Answers a device's home whether the channel exists that the device asks for, and which broadcast it stores.
    ///
    /// If another node decides about the app, nothing is answered: the device's home asks again.
    func find(_ request: SubscriptionRequest) {
        guard !context.isElsewhere(request.owner) else { return }
        let (isKnown, stored) = registry.find(request, now: context.now)
        let row = context.outbox.places == nil ? QueueRow(0) : context.rows.draw()
        context.outbox.send(
            .channel(.subscribed(request, isKnown: isKnown, stored, row)), to: request.shard)
    }

    /// Removes stored broadcasts that have expired, of apps about which this node decides: another one may have stored
    /// a newer broadcast by now.
    func sweep() {
        let context = context
        perform { registry.sweep(now: context.now, where: { !context.isElsewhere($0) }, &$0) }
    }

    /// Removes the channels of apps that the operator does not allow to have any. This also repeats removals that a
    /// full disk or the relay's stop has prevented.
    func removeForbidden() {
        let context = context
        perform {
            registry.removeChannels(
                where: { !context.policy.broadcastTopics.contains($0.topic) && !context.isElsewhere($0) }, &$0
            )
        }
    }

    private func perform(_ change: (inout [ChannelRegistry.Effect]) -> Void) {
        var effects: [ChannelRegistry.Effect] = []
        change(&effects)
        for effect in effects { perform(effect) }
    }

    private func perform(_ effect: ChannelRegistry.Effect) {
        switch effect {
        case .answer(let address, let answer):
            context.outbox.send(.channel(.answer(address, answer)), to: Int(address.shard))
        case .apply(let change, let step):
            changes.apply([change]) { [unowned self] result in
                perform { registry.applied(step, failure: result.failure?.rejection, &$0) }
                if case .creation = step { removeForbidden() }
            }
        case .publish(let broadcast, let environment, let proof):
            accepted += 1
            let row = context.rows.draw()
            context.trace.noteAccepted(broadcast, in: environment, by: proof, row, at: context.now)
            context.outbox.sendToAllNodes(.channel(.broadcast(broadcast, row)))
        case .announceEnd(let channel):
            context.outbox.sendToAllNodes(.channel(.removed(channel)))
        }
    }
}

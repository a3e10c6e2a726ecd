import PostriderCluster
import PostriderNotifications

/// What a relay does as a node of its cluster: it carries out what its ``Membership`` orders, and tells the shards
/// where devices have their homes. It does no I/O and has no clock.
///
/// A partition is served when the ledger has read it and every shard has its devices. It is not served any more before
/// the shards are told to give it up, and it becomes free in the database after all of them have.
final class NodeMember {
    /// What a member needs of its surroundings.
    struct Surroundings {
        /// The number of this node's shards.
        let shardCount: Int
        let serving: ServingTime
        /// Posts a message to every shard.
        let post: (ShardMessage) -> Void
        /// Has shard 0 read what every node has, which has this version now.
        let renew: (Int64) -> Void
        /// Passes a request to the store of the membership, which answers by ``NodeMember/answered(_:_:at:)``.
        let ask: (MembershipRequest) -> Void
        /// Has the ledger read partitions, whose rows begin above this one.
        let take: (Set<Partition>, QueueRow) -> Void
        /// The database has shown the cluster: links to its nodes should be there.
        let seen: (ClusterView) -> Void
        /// The membership is over.
        let ended: (End) -> Void
        let log: Log
    }

    /// How a membership ends.
    enum End: Sendable {
        /// As the relay has wanted.
        case left
        /// Another node that is alive has this node's name.
        case refused
        /// Others have declared this node dead, and may have its partitions.
        case lost
    }

    private let around: Surroundings
    private var membership: Membership
    private(set) var view: ClusterView?
    private var moves = PartitionsInMotion()
    /// The open links to other nodes.
    private(set) var links: [NodeName: Int] = [:]
    /// The nodes that have opened a link to this one, and how many are open.
    private var comers: [NodeName: Int] = [:]
    private var places = PartitionPlaces.unknown
    private var absences = PartitionAbsences()
    /// The version of what every node has, as the shards have it; nil if that is not known, as after the start.
    private var version: Int64?
    private var isReady = false
    private var isSuspended = false
    private var hasJoined = false
    private var isGuest = true
    private var hasEnded = false
    private var failures = FailureEpisodes()

    init(_ name: NodeName, _ lease: Lease, _ surroundings: Surroundings) {
        around = surroundings
        membership = Membership(name: name, lease: lease, waits: true)
    }

    /// The node's name.
    var name: NodeName { membership.name }

    /// When ``turn(at:)`` is to be called next, in monotonic nanoseconds; nil if the membership is over.
    var wakesAt: UInt64? {
        guard !hasEnded, let moment = membership.wakesAt else { return nil }
        return min(moment, absences.nextEnd ?? .max)
    }

    /// The number of partitions whose devices the node serves.
    func servedCount(at now: UInt64) -> Int { moves.served(of: membership.served(at: now)).count }

    // MARK: Events

    /// The time has come that ``wakesAt`` names. It may be called more often.
    func turn(at now: UInt64) { perform(membership.turn(at: now), at: now) }

    /// The store of the membership has answered the last request, or has failed.
    func answered(_ answer: MembershipAnswer, _ failure: StoreError?, at now: UInt64) {
        note(failure, at: now)
        if case .joined(true) = answer { hasJoined = true }
        // Before it is a member it has no links: the node that has its name may be another one, whose links these
        // would replace.
        if case .view(let newer) = answer, hasJoined {
            view = newer
            around.seen(newer)
            if isReady, version != newer.registryVersion { around.renew(newer.registryVersion) }
        }
        perform(membership.answered(answer, at: now), at: now)
        arrive(at: now)
        if failure == nil, isReady { for load in moves.takeRetries() { take(load) } }
    }

    /// The shards run.
    func begin(at now: UInt64) {
        isReady = true
        for load in moves.takeRetries() { take(load) }
        settle(at: now)
    }

    /// The ledger has read partitions, and given them to the shards.
    func taken(_ partitions: Set<Partition>, at now: UInt64) {
        around.log.info("this node serves \(partitions.count) more partitions")
        let postponed = moves.taken(partitions)
        // Pushes for these devices are accepted before any of the devices is given up again.
        settle(at: now)
        for partitions in postponed { leave(partitions, at: now) }
    }

    /// The ledger could not read partitions. It tries again when the database answers.
    func notTaken(_ partitions: Set<Partition>, _ error: StoreError) {
        around.log.warning("\(partitions.count) partitions are not read: \(error)", kind: "partitions")
        moves.notTaken(partitions, isFinal: error.kind == .fenced || error.kind == .misplaced)
    }

    /// A shard has forgotten the devices of the partitions of this ticket.
    func left(_ ticket: UInt64, at now: UInt64) {
        guard let given = moves.left(ticket) else { return }
        around.log.info("this node has given up \(given.count) partitions")
        perform(membership.gaveUp(given, at: now), at: now)
    }

    /// The shards have what every node has, as of this version.
    func renewed(_ version: Int64) { self.version = version }

    /// The operator wants the node to give its partitions away, and to stay a member.
    func drain(at now: UInt64) { perform(membership.drain(at: now), at: now) }

    /// The relay stops.
    func leave(at now: UInt64) { perform(membership.leave(at: now), at: now) }

    /// A link to another node is open.
    func opened(_ link: Int, to node: NodeName, at now: UInt64) {
        links[node] = link
        arrive(at: now)
        settle(at: now)
    }

    /// A link to another node has ended.
    func ended(_ link: Int, to node: NodeName, at now: UInt64) {
        if links[node] == link { links[node] = nil }
        settle(at: now)
    }

    /// Another node has opened a link.
    func opened(from node: NodeName, at now: UInt64) {
        comers[node, default: 0] += 1
        arrive(at: now)
    }

    /// A link that another node has opened has ended.
    func ended(from node: NodeName) {
        let left = (comers[node] ?? 1) - 1
        comers[node] = left > 0 ? left : nil
    }

    // MARK: Arriving

    /// The nodes that serve devices and have no links with this one, which has just joined, in both directions. Until
    /// there are none it takes no partitions: otherwise a node with a wrong certificate or address, which nobody
    /// reaches, would take devices from nodes that serve them. It does not wait for others that have just joined.
    var awaited: [NodeName] {
        guard isGuest, let view else { return [] }
        return view.nodes.values.filter { $0.name != name && !$0.isDraining }.map(\.name)
            .filter { links[$0] == nil || comers[$0] == nil }.sorted()
    }

    /// Takes partitions from now on, if all nodes that serve devices are linked.
    private func arrive(at now: UInt64) {
        guard isGuest, view != nil, awaited.isEmpty else { return }
        isGuest = false
        perform(membership.take(at: now), at: now)
    }

    // MARK: Orders

    private func perform(_ orders: [MembershipOrder], at now: UInt64) {
        for order in orders { perform(order, at: now) }
        settle(at: now)
    }

    private func perform(_ order: MembershipOrder, at now: UInt64) {
        guard !hasEnded else { return }
        switch order {
        case .ask(let request): around.ask(request)
        case .load(let partitions, let generation):
            let load = PartitionsInMotion.Load(partitions: partitions, generation: generation)
            if isReady { take(load) } else { moves.keep(load) }
        case .giveUp(let partitions):
            if moves.canLeave(partitions) { leave(partitions, at: now) }
        case .suspend:
            isSuspended = true
            around.log.warning("this node serves nobody for now: the database did not answer in time")
        case .resume:
            if isSuspended { around.log.notice("this node serves again") }
            isSuspended = false
        case .drop: end(.lost)
        case .end: end(.left)
        case .refuse: end(.refused)
        }
    }

    private func take(_ load: PartitionsInMotion.Load) {
        moves.began(load)
        around.take(load.partitions, load.firstRow)
    }

    private func leave(_ partitions: Set<Partition>, at now: UInt64) {
        let ticket = moves.leave(partitions, shards: around.shardCount)
        // From now on pushes for these devices wait until their new home is known.
        settle(at: now)
        around.post(.registry(.leave(partitions, ticket: ticket)))
    }

    private func end(_ end: End) {
        hasEnded = true
        moves = PartitionsInMotion()
        around.ended(end)
    }

    // MARK: What shards know

    /// Tells the shards where devices have their homes, if that has changed, and until when the node serves.
    private func settle(at now: UInt64) {
        around.serving.change(to: hasEnded ? 0 : membership.servingEnd)
        guard let view else { return }
        let served = hasEnded ? [] : moves.served(of: membership.served(at: now))
        let found = PartitionPlaces(view.placement, own: name, served: served, links: links)
        // Nobody hears of a new home any more after the end.
        let newer = hasEnded ? found : absences.mark(found, at: now)
        guard newer != places else { return }
        places = newer
        around.post(.registry(.placed(newer)))
    }

    /// Logs when the database begins to fail and when it answers again, instead of each request.
    private func note(_ failure: StoreError?, at now: UInt64) {
        if let failure {
            guard failures.failed(failure, at: now) else { return }
            around.log.error("the cluster's database does not answer this node: \(failure)")
        } else if failures.succeeded(at: now) != nil {
            around.log.notice("the cluster's database answers again")
        }
    }
}

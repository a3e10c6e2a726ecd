import PostriderCluster
import PostriderNotifications
import PostriderTransport

/// Providers' requests on one shard that wait because their partition is between two homes: it moves from node to node,
/// or its node has died. Without a cluster nothing waits.
///
/// Requests of this shard's providers wait here until there is a new home. Others have come from other shards to the
/// home of their device or channel, which does not serve it yet or any more. They wait for it to be served, or for
/// their provider's shard to recall them. Requests of one connection keep their order: see ``HandoverMessage``.
///
/// Everything is bounded: a request waits for ``Limits/movingMilliseconds`` in all, and is then answered with 503, as
/// it is at once if too much waits.
final class WaitingRequests {
    private let index: Int
    private let outbox: Outbox
    private let scheduler: any Scheduler
    /// Carries a request out at its home, which is this shard.
    var perform: (WaitingRequest) -> Void = { _ in }
    /// For how long a request waits.
    var patienceMilliseconds = UInt64(Limits.movingMilliseconds)
    private var queues: [Partition: WaitingQueue] = [:]
    private var recalls: [UInt64: RequestRecall] = [:]
    private var lastTicket: UInt64 = 0
    private var load: WaitingLoad
    /// The partitions for which something was sent to other shards or nodes, since their place has changed.
    private var used = [Bool](repeating: false, count: Partition.count)
    private lazy var timer = scheduler.makeTimer { [unowned self] in lookAtClock() }

    private static let lookMilliseconds = 50

    init(index: Int, outbox: Outbox, _ scheduler: any Scheduler) {
        self.index = index
        self.outbox = outbox
        self.scheduler = scheduler
        load = WaitingLoad(ofShard: index)
    }

    // MARK: Providers

    /// Whether requests of this shard's providers for a partition must wait, because earlier ones do.
    private func blocks(_ partition: Partition) -> Bool {
        guard !queues.isEmpty, let queue = queues[partition] else { return false }
        return queue.recalls > 0 || !queue.own.isEmpty
    }

    /// Passes a provider's request to its home, or lets it wait. Its address is answered once, unless this returns a
    /// rejection.
    func route(_ request: WaitingRequest) -> Rejection? {
        let shard = request.home(among: outbox.shardCount)
        return route(request, about: request.partition, shard: shard) { arrive(request) }
    }

    /// The same for a request that is made only if it must wait or is sent away, because nearly every push goes on at
    /// once.
    ///
    /// - Parameters:
    ///   - shard: the index of the home, among the shards of the node that has the partition.
    ///   - arrive: lets the request arrive at its home, which is this shard.
    func route(
        _ request: @autoclosure () -> WaitingRequest, about partition: Partition, shard: Int,
        arrive: () -> Void
    ) -> Rejection? {
        guard !blocks(partition), let place = outbox.place(of: partition, shard: shard) else {
            return keep(request(), partition)
        }
        guard !outbox.isCongested(place) else { return .tooManyRequests }
        guard place != index else {
            arrive()
            return nil
        }
        if outbox.places != nil { used[partition.number] = true }
        outbox.send(request().message, to: place)
        return nil
    }

    private func keep(_ request: WaitingRequest, _ partition: Partition) -> Rejection? {
        guard blocks(partition) || outbox.places?.place(of: partition) == .moving, hasRoom(for: request)
        else { return .serviceUnavailable }
        queues[partition, default: WaitingQueue()].add(item(request))
        return nil
    }

    // MARK: The home

    /// Whether the home may carry out a request now. Otherwise the request waits here, or is answered.
    func admits(_ partition: Partition, _ request: @autoclosure () -> WaitingRequest) -> Bool {
        guard outbox.isElsewhere(partition, at: scheduler.now) else {
            if !queues.isEmpty { serve(partition) }
            return true
        }
        let request = request()
        guard outbox.places?.place(of: partition) != .nowhere, hasRoom(for: request) else {
            refuse(request, .serviceUnavailable)
            return false
        }
        queues[partition, default: WaitingQueue()].arrive(item(request))
        return false
    }

    private func arrive(_ request: WaitingRequest) {
        if admits(request.partition, request) { perform(request) }
    }

    /// Carries out what has come for a partition that is served.
    private func serve(_ partition: Partition) {
        guard let arrived = queues[partition]?.takeArrived() else { return }
        drop(partition)
        for item in arrived { perform(take(item)) }
    }

    // MARK: Messages

    func take(_ message: HandoverMessage) {
        switch message {
        case .again(let request): arrive(request)
        case .returned(let request): takeBack(request)
        case .recall(let partitions, let place, let ticket):
            for partition in partitions.sorted() { giveBack(partition, to: place) }
            outbox.send(
                .handover(.recalled(place: place, ticket: ticket, shards: outbox.shardCount)), to: place)
        case .recalled(_, let ticket, let shards):
            guard let recall = recalls[ticket] else { return }
            let left = (recall.left ?? shards) - 1
            recalls[ticket]?.left = left
            if left <= 0 { end(ticket) }
        }
    }

    /// A link has ended: what was sent over it is answered, and what has come over it is as well, on its node.
    func ended(_ link: Int) {
        for partition in queues.keys.sorted() {
            for item in queues[partition]?.takeArrived(over: link) ?? [] { _ = take(item) }
            drop(partition)
        }
        for (ticket, recall) in recalls.sorted(by: { $0.key < $1.key }) where recall.link == link {
            end(ticket)
        }
    }

    private func giveBack(_ partition: Partition, to place: Int) {
        for item in queues[partition]?.takeArrived(from: place) ?? [] {
            outbox.send(.handover(.returned(take(item))), to: place)
        }
        drop(partition)
    }

    /// What was sent goes before what was not. If the recall has ended without an answer, later requests may have gone
    /// on.
    private func takeBack(_ request: WaitingRequest) {
        let partition = request.partition
        guard queues[partition]?.recalls ?? 0 > 0, hasRoom(for: request) else {
            return refuse(request, .serviceUnavailable)
        }
        queues[partition, default: WaitingQueue()].takeBack(item(request))
        look(at: partition)
    }

    // MARK: Places

    /// Partitions have other places than these from now on.
    func placesChanged(from former: PartitionPlaces?) {
        guard let places = outbox.places else { return }
        var left: [Int: [Partition]] = [:]
        for (partition, place) in places.changes(since: former) where used[partition.number] {
            used[partition.number] = false
            switch place {
            case .here: left[0, default: []].append(partition)
            case .node(let link): left[link, default: []].append(partition)
            case .moving, .nowhere: break
            }
        }
        for (link, partitions) in left.sorted(by: { $0.key < $1.key }) { recall(partitions, link) }
        lookAtAll()
    }

    /// Asks a former home, this node for link 0, for what it has not carried out.
    private func recall(_ partitions: [Partition], _ link: Int) {
        lastTicket += 1
        let shards = link == 0 ? (0..<outbox.shardCount).filter { $0 != index } : []
        guard link > 0 || !shards.isEmpty else { return }
        recalls[lastTicket] = RequestRecall(
            partitions: partitions, link: link == 0 ? nil : link, left: link == 0 ? shards.count : nil,
            deadline: scheduler.now + patienceMilliseconds * 1_000_000)
        for partition in partitions { queues[partition, default: WaitingQueue()].recalls += 1 }
        let message = HandoverMessage.recall(Set(partitions), place: index, ticket: lastTicket)
        for place in link == 0 ? shards : [ShardPlace(link: link).number] {
            outbox.send(.handover(message), to: place)
        }
        arm()
    }

    private func end(_ ticket: UInt64) {
        guard let recall = recalls.removeValue(forKey: ticket) else { return }
        for partition in recall.partitions {
            queues[partition]?.recalls -= 1
            look(at: partition)
        }
    }

    private func lookAtAll() { for partition in queues.keys.sorted() { look(at: partition) } }

    /// Sends on what waits for a partition, if it can go on.
    private func look(at partition: Partition) {
        guard var queue = queues[partition] else { return }
        let place = outbox.places?.place(of: partition) ?? .here
        let isHere = place == .here
        if isHere, !outbox.isElsewhere(partition, at: scheduler.now) { return serve(queue, partition) }
        if !isHere {
            // Requests of this shard's own providers that have come to their home need no recall.
            for item in queue.takeArrived(from: index) { queue.takeBack(item) }
        }
        var (own, refused): ([WaitingQueue.Item], [WaitingQueue.Item]) = ([], [])
        if case .node = place, queue.recalls == 0 { own = queue.takeOwn() }
        if place == .nowhere { refused = queue.takeLate(at: .max) }
        queues[partition] = queue
        drop(partition)
        for item in own { sendOn(take(item)) }
        for item in refused { refuse(take(item), .serviceUnavailable) }
    }

    /// The partition is served here.
    private func serve(_ queue: WaitingQueue, _ partition: Partition) {
        serve(partition)
        guard queue.recalls == 0, !queue.own.isEmpty else { return }
        let own = queues[partition]?.takeOwn() ?? []
        drop(partition)
        for item in own { sendOn(take(item)) }
    }

    private func sendOn(_ request: WaitingRequest) {
        if let rejection = route(request) { refuse(request, rejection) }
    }

    private func refuse(_ request: WaitingRequest, _ reason: Rejection) {
        outbox.send(request.refusal(reason), to: Int(request.address.shard))
    }

    // MARK: Time and bounds

    private func lookAtClock() {
        let now = scheduler.now
        for partition in queues.keys.sorted() {
            for item in queues[partition]?.takeLate(at: now) ?? [] { refuse(take(item), .serviceUnavailable) }
            drop(partition)
        }
        for (ticket, recall) in recalls.sorted(by: { $0.key < $1.key }) where recall.deadline <= now {
            end(ticket)
        }
        // The end of a lease, and its renewal, are times and not messages.
        lookAtAll()
        if !queues.isEmpty { arm() }
    }

    private func arm() { if !timer.isArmed { timer.arm(afterMilliseconds: Self.lookMilliseconds) } }

    private func drop(_ partition: Partition) {
        if queues[partition]?.isEmpty == true { queues[partition] = nil }
    }

    private func hasRoom(for request: WaitingRequest) -> Bool {
        request.waited < patienceMilliseconds && load.hasRoom(for: request)
    }

    private func item(_ request: WaitingRequest) -> WaitingQueue.Item {
        load.add(request)
        arm()
        let (now, left) = (scheduler.now, patienceMilliseconds - UInt64(request.waited))
        return WaitingQueue.Item(request: request, since: now, deadline: now + left * 1_000_000)
    }

    /// Takes a request out of the account. A request that goes to and fro between nodes that disagree comes to an end
    /// even if it waits nowhere.
    private func take(_ item: WaitingQueue.Item) -> WaitingRequest {
        var request = item.request
        load.remove(request)
        let waited = max((scheduler.now - item.since) / 1_000_000, Limits.leastMovingMilliseconds)
        request.waited = UInt32(clamping: UInt64(request.waited) + waited)
        return request
    }
}

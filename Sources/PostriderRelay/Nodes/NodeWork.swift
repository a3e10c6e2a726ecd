import PostriderCluster
import PostriderCourier
import PostriderNodes
import PostriderNotifications
import PostriderSystem
import PostriderTransport

/// What the thread of a node does: it joins the links, the switch for messages, and the membership. Confined to the
/// thread of its loop.
final class NodeWork {
    private let thread: NodeThread
    private unowned let loop: EventLoop
    private let log: Log
    /// Called once, when the node is a member or cannot become one.
    private var joined: ((Result<MemberClaim, any Error>) -> Void)?
    private var hasLeft = false
    private lazy var timer = loop.makeTimer { [unowned self] in
        member.turn(at: loop.now)
        arm()
    }
    /// Ends what takes too long: first the joining, and then the leaving.
    private lazy var patience = loop.makeTimer { [unowned self] in runOutOfTime() }
    /// Closes the links after the node has left.
    private lazy var closing = loop.makeTimer { [unowned self] in close() }
    private var hasLinksUntil: UInt64 = 0
    /// The nodes that this one should have links to, and since when they are not in the database any more.
    private var destinations: [NodeName: (place: Destination, goneSince: UInt64?)] = [:]
    private lazy var links = NodeLinks(
        greeting: NodeGreeting(cluster: "", name: thread.cluster.name, generation: 0), on: loop,
        dial: { [unowned self] in dial($0, $1, $2) }, told: { [unowned self] in note($0) },
        receive: { [unowned self] in receive($0, from: $1) })
    private lazy var messages = NodeSwitch(
        NodeSwitch.Surroundings(
            shardCount: thread.mailboxes.shards.count,
            post: { [shards = thread.mailboxes.shards] in shards[$1].post($0) },
            postAnswer: { [shards = thread.mailboxes.shards] in shards[$1].postEvenIfFull($0) },
            takesRequest: { [unowned self] in links.takesRequest($0) },
            send: { [unowned self] in links.send($0, over: $1) }))
    private lazy var member = NodeMember(
        thread.cluster.name, thread.cluster.lease,
        NodeMember.Surroundings(
            shardCount: thread.mailboxes.shards.count, serving: thread.node.serving,
            post: { [mailboxes = thread.mailboxes] in mailboxes.postToAllShards($0) },
            renew: { [mailboxes = thread.mailboxes] in
                mailboxes.shards[0].postEvenIfFull(.registry(.sharedChanged(version: $0)))
            },
            ask: { [requests = thread.node.requests] in requests.postEvenIfFull($0) },
            take: { [ledger = thread.mailboxes.ledger] in ledger.postEvenIfFull(.take($0, above: $1)) },
            seen: { [unowned self] in connect(by: $0) },
            ended: { [unowned self] in ended($0) }, log: log))

    init(_ thread: NodeThread, on loop: EventLoop, joined: @escaping (Result<MemberClaim, any Error>) -> Void)
    {
        self.thread = thread
        self.loop = loop
        self.joined = joined
        log = thread.log
    }

    /// Listens for other nodes, and begins the membership.
    func begin() throws {
        try loop.listen(thread.cluster.address, renewable: thread.tls.accepting) { [unowned self] _ in
            // Before that nothing is known with which a greeting could be compared.
            member.view == nil ? nil : links.accept()
        }
        try loop.attach(thread.node.messages) { [unowned self] messages in
            for message in messages { self.messages.pass(message) }
            messages.removeAll(keepingCapacity: true)
        }
        try loop.attach(thread.node.events) { [unowned self] events in
            for event in events { take(event) }
            events.removeAll(keepingCapacity: true)
            arm()
        }
        patience.arm(afterMilliseconds: Limits.joinMilliseconds)
        timer.arm(afterMilliseconds: 0)
    }

    private func arm() {
        report()
        guard let moment = member.wakesAt, moment != .max else { return timer.disarm() }
        timer.arm(afterMilliseconds: moment <= loop.now ? 0 : Int((moment - loop.now) / 1_000_000) + 1)
    }

    // MARK: Events

    private func take(_ event: NodeEvent) {
        let now = loop.now
        switch event {
        case .answered(let answer, let failure): member.answered(answer, failure, at: now)
        case .claimed(let claim): hasJoined(.success(claim))
        case .taken(let partitions): member.taken(partitions, at: now)
        case .notTaken(let partitions, let error): member.notTaken(partitions, error)
        case .left(let ticket): member.left(ticket, at: now)
        case .renewed(let version): member.renewed(version)
        case .ready: member.begin(at: now)
        case .drain: member.drain(at: now)
        case .leave:
            patience.arm(afterMilliseconds: Limits.leaveMilliseconds)
            member.leave(at: now)
        case .stop:
            // Others may have sent something before they knew that this node has left: they ask it to return that.
            guard hasLinksUntil > now else { return close() }
            closing.arm(afterMilliseconds: Int((hasLinksUntil - now) / 1_000_000) + 1)
        }
    }

    private func close() {
        links.close()
        loop.stop()
    }

    private func runOutOfTime() {
        let sentence =
            "This node could not join the cluster within \(Limits.joinMilliseconds / 1000) seconds: the "
            + "messages above say why."
        hasJoined(.failure(StoreError(.unreachable, sentence)))
        hasEnded()
    }

    private func hasJoined(_ result: Result<MemberClaim, any Error>) {
        patience.disarm()
        joined?(result)
        joined = nil
    }

    private func ended(_ end: NodeMember.End) {
        let name = thread.cluster.name
        switch end {
        case .left:
            log.notice("node \(name) has left the cluster")
            guard !destinations.isEmpty else { break }
            hasLinksUntil = loop.now + UInt64(Limits.linkAfterLeavingMilliseconds) * 1_000_000
        case .refused:
            hasJoined(
                .failure(
                    StoreError(
                        .busy,
                        "Another node of the cluster is called \(name) and is alive: give each a "
                            + "node-name of its own.")))
        case .lost:
            thread.cluster.whenLost(
                "others have declared node \(name) dead, because its heartbeat was late, and have its devices"
            )
        }
        hasEnded()
    }

    private func hasEnded() {
        guard !hasLeft else { return }
        hasLeft = true
        thread.left.countDown()
    }

    // MARK: Links

    /// Opens links to the nodes of a cluster, and closes those to nodes that are gone.
    private func connect(by view: ClusterView) {
        let own = thread.cluster.name
        links.greeting = NodeGreeting(
            cluster: view.cluster, name: own, generation: view.nodes[own]?.generation ?? 0)
        let now = loop.now
        for name in destinations.keys where view.nodes[name] == nil {
            let since = destinations[name]?.goneSince ?? now
            let isOver = now >= since + UInt64(Limits.linkAfterLeavingMilliseconds) * 500_000
            if isOver { destinations[name] = nil } else { destinations[name]?.goneSince = since }
        }
        for node in view.nodes.values where node.name != own {
            do throws(TransportError) {
                destinations[node.name] = (try Destination(node.address), nil)
            } catch {
                log.error(
                    "node \(node.name) cannot be reached: \(error) Correct its cluster-public-address.",
                    kind: "address of \(node.name)")
            }
        }
        links.connect(to: destinations.mapValues(\.place))
    }

    private func dial(_ node: NodeName, _ destination: Destination, _ handler: any ConnectionHandler) {
        _ = loop.dial(
            destination, resolver: SystemResolver(), tls: (thread.tls.dialling.current, node.text),
            timeoutMilliseconds: Limits.nodeRetryMilliseconds, session: handler)
    }

    private func note(_ event: NodeLinks.Event) {
        defer { report() }
        switch event {
        case .opened(let link, let node, let isOutgoing):
            log.info(isOutgoing ? "linked to node \(node)" : "node \(node) has opened a link")
            guard isOutgoing else { return member.opened(from: node, at: loop.now) }
            messages.opened(link)
            member.opened(link, to: node, at: loop.now)
        case .ended(let link, let node, let isOutgoing, let end):
            log.warning(
                "the link \(isOutgoing ? "to" : "from") node \(node) has ended: \(end)", kind: "link \(node)")
            messages.ended(link)
            thread.mailboxes.postToAllShards(.edge(.linkEnded(link: link)))
            if isOutgoing { member.ended(link, to: node, at: loop.now) } else { member.ended(from: node) }
        case .failed(let node, let end):
            let name = node.map { "node \($0)" } ?? "a node that has come"
            log.warning("there is no link to \(name): \(end)", kind: "no link \(name)")
        }
    }

    private func receive(_ bytes: Span<UInt8>, from link: Int) -> CourierError? {
        do throws(CourierError) {
            try messages.receive(bytes, from: link)
            return nil
        } catch {
            return error
        }
    }

    // MARK: Reports

    private func report() {
        var report = thread.node.reports.current
        if let view = member.view { report.note(view, at: loop.now) }
        report.served = member.servedCount(at: loop.now)
        report.links = member.links
        report.awaited = member.awaited
        report.counters = messages.counters
        thread.node.reports.replace(report)
    }
}

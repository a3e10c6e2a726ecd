import PostriderCluster
import PostriderNotifications

/// Sends the events of devices to programs that follow them (`GET /v1/devices/events`), as server-sent events: of all
/// nodes of a cluster. It lives on shard 0; every shard reports events to it while anybody follows.
final class DeviceEventFeed {
    /// Sends bytes on a stream. Returns false if too much waits there; then the stream is ended.
    typealias Send = ([UInt8]) -> Bool

    /// What other nodes of the cluster are told and asked.
    private struct Cluster {
        let nodes: NodeQueries
        let log: DeviceEventLog
        let others: NodeEventReader

        /// The name of this node; nil without a cluster.
        var name: String? { nodes.cluster?.name.text }
    }

    private let exchange: PresenceExchange
    /// Nil without an interface for the operator.
    private var cluster: Cluster?
    private var followers: [Int: Send] = [:]
    private var lastFollower = 0
    private var lastEvent = 0
    /// The program that observes events; nil if there is none.
    private var observer: Observer?

    /// A program that observes the events of this node's devices.
    struct Observer {
        /// Gets events as they come.
        let take: ([Control.DeviceEvent]) -> Void
        /// Gets the ends of connections to another node, whose devices are expected to connect to this one.
        let expect: ([Control.DeviceEvent]) -> Void
    }

    init(_ exchange: PresenceExchange) { self.exchange = exchange }

    /// Tells and asks the other nodes of the cluster, if there are any.
    func join(_ nodes: NodeQueries) {
        cluster = Cluster(
            nodes: nodes, log: DeviceEventLog(nodes.context, exchange),
            others: NodeEventReader(
                nodes, tellDevices: { [unowned self] in send($0) }, tellNode: { [unowned self] in send($0) }))
    }

    /// Whether anybody follows events.
    var isFollowed: Bool { observer != nil || !followers.isEmpty || cluster?.log.isKept == true }

    /// Prepares for a follower: `then` is called when the other nodes have been asked, or are missing. The caller
    /// begins to follow then, and ends the preparation after that.
    func prepare(then: @escaping () -> Void) {
        guard let cluster else { return then() }
        cluster.others.begin(then: then)
    }

    /// Ends a preparation.
    func endPreparation() { cluster?.others.end() }

    /// Begins to send the events from now on.
    ///
    /// - Returns: the follower's number; nil if the limit of followers is reached.
    func follow(_ send: @escaping Send) -> Int? {
        guard followers.count < Limits.eventStreams else { return nil }
        exchange.count(1)
        cluster?.others.begin(then: {})
        lastFollower += 1
        followers[lastFollower] = send
        return lastFollower
    }

    /// Whether a program observes events.
    var isObserved: Bool { observer != nil }

    /// Devices that were connected to another node are expected here.
    func expectReturns(_ departures: [Control.DeviceEvent]) { observer?.expect(withNode(departures)) }

    /// Tells `observer` the events of this node's devices, as long as the relay runs.
    func observe(_ observer: Observer) {
        self.observer = observer
        exchange.count(1)
    }

    /// Removes a follower.
    func leave(_ number: Int) {
        guard followers.removeValue(forKey: number) != nil else { return }
        exchange.count(-1)
        cluster?.others.end()
    }

    /// Tells a new follower which nodes do not answer at the moment.
    func tellMissing(_ number: Int) {
        guard let others = cluster?.others else { return }
        for node in others.missing { send(others.event(.nodeMissing, node), to: [number]) }
    }

    /// Passes events of this node's devices to all followers.
    func take(_ events: [Control.DeviceEvent]) {
        let events = withNode(events)
        observer?.take(events)
        cluster?.log.add(events)
        send(events)
    }

    private func withNode(_ events: [Control.DeviceEvent]) -> [Control.DeviceEvent] {
        cluster?.name.map { events.told(by: $0) } ?? events
    }

    /// The events after a cursor, for another node.
    func read(after cursor: String) -> DeviceEventLog.Part {
        guard let cluster else { preconditionFailure("only a node of a cluster is asked") }
        return cluster.log.read(after: cursor)
    }

    private func send(_ events: [Control.DeviceEvent]) {
        guard !followers.isEmpty else { return }
        var bytes: [UInt8] = []
        for event in events { bytes += text(event.what.rawValue, event) }
        send(bytes, to: followers.keys.sorted())
    }

    private func send(_ event: Control.NodeEvent) { send(event, to: followers.keys.sorted()) }

    private func send(_ event: Control.NodeEvent, to numbers: [Int]) {
        guard !numbers.isEmpty else { return }
        send(text(event.what.rawValue, event), to: numbers)
    }

    private func send(_ bytes: [UInt8], to numbers: [Int]) {
        for number in numbers where followers[number]?(bytes) == false { leave(number) }
    }

    private func text(_ name: String, _ value: some Encodable) -> [UInt8] {
        lastEvent += 1
        return Array("event: \(name)\nid: \(lastEvent)\ndata: ".utf8) + ControlHandler.answer(value).body
            + Array("\n\n".utf8)
    }
}

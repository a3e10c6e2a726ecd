import FoundationEssentials
import PostriderCluster
import PostriderNotifications
import PostriderTransport

/// Asks the other nodes of the cluster for the events of their devices, several times a second while anybody follows
/// events at this node. A node that does not answer is named, and asked again.
final class NodeEventReader {
    /// What is known of one other node.
    private struct Source {
        /// The number of this record: a node that has left and come back has another one.
        let number: UInt64
        /// Where the next events begin; nil before the first answer.
        var cursor: String?
        /// Whether a question is under way.
        var isAsked = false
        var isMissing = false
    }

    private let queries: NodeQueries
    private let tellDevices: ([Control.DeviceEvent]) -> Void
    private let tellNode: (Control.NodeEvent) -> Void
    private var sources: [NodeName: Source] = [:]
    private var readers = 0
    /// Whether the nodes were looked at since the first reader has come.
    private var hasBegun = false
    /// Callers that wait until every node has answered, or is missing.
    private var waiting: [() -> Void] = []
    private lazy var timer = queries.context.scheduler.makeTimer { [unowned self] in look() }

    /// - Parameters:
    ///   - tellDevices: gets the events of other nodes' devices.
    ///   - tellNode: gets what happens to the other nodes.
    init(
        _ queries: NodeQueries, tellDevices: @escaping ([Control.DeviceEvent]) -> Void,
        tellNode: @escaping (Control.NodeEvent) -> Void
    ) {
        self.queries = queries
        self.tellDevices = tellDevices
        self.tellNode = tellNode
    }

    /// The nodes that do not answer.
    var missing: [NodeName] { sources.filter(\.value.isMissing).keys.sorted() }

    /// Begins to ask, or goes on for one reader more. `then` is called when every node has answered, or is missing:
    /// from then on no event of a node that answers is left out.
    func begin(then: @escaping () -> Void) {
        readers += 1
        waiting.append(then)
        guard readers == 1 else { return tellReady() }
        look()
    }

    /// A reader has gone. After the last one nothing is asked.
    func end() {
        readers -= 1
        guard readers == 0 else { return }
        (sources, waiting, hasBegun) = ([:], [], false)
        timer.disarm()
    }

    private func look() {
        guard readers > 0 else { return }
        let others = queries.cluster?.others().keys.sorted() ?? []
        // The last reader may go when it is told of a node.
        for node in sources.keys.sorted() where readers > 0 && !others.contains(node) {
            sources[node] = nil
            tell(.nodeLeft, node)
        }
        for node in others where readers > 0 && sources[node] == nil {
            sources[node] = Source(number: queries.context.drawNumber())
            if hasBegun { tell(.nodeJoined, node) }
        }
        hasBegun = readers > 0
        for node in others { ask(node) }
        tellReady()
        guard readers > 0, queries.cluster != nil else { return }
        timer.arm(afterMilliseconds: Limits.deviceEventsMilliseconds)
    }

    private func ask(_ node: NodeName) {
        guard let source = sources[node], !source.isAsked else { return }
        sources[node]?.isAsked = true
        queries.ask(node, .deviceEvents(after: source.cursor ?? "")) { [weak self] answer in
            self?.take(answer, of: node, source.number)
        }
    }

    private func take(_ answer: ControlAnswer?, of node: NodeName, _ number: UInt64) {
        guard var source = sources[node], source.number == number else { return }
        let wasMissing = source.isMissing
        let part = answer.flatMap { answer in
            answer.status == 200
                ? try? JSONDecoder().decode(DeviceEventLog.Part.self, from: Data(answer.body)) : nil
        }
        (source.isAsked, source.isMissing) = (false, part == nil)
        source.cursor = part?.cursor ?? source.cursor
        sources[node] = source
        guard let part else {
            if !wasMissing { tell(.nodeMissing, node) }
            return tellReady()
        }
        if wasMissing { tell(.nodeBack, node) }
        if part.hasGap { tell(.eventsLost, node) }
        if !part.events.isEmpty { tellDevices(part.events) }
        if part.hasMore { ask(node) }
        tellReady()
    }

    private func tell(_ what: Control.NodeEvent.What, _ node: NodeName) {
        tellNode(event(what, node))
    }

    /// An event of a node that happens now.
    func event(_ what: Control.NodeEvent.What, _ node: NodeName) -> Control.NodeEvent {
        Control.NodeEvent(what: what, at: queries.context.now.milliseconds, node: node.text)
    }

    private func tellReady() {
        guard hasBegun, !waiting.isEmpty,
            !sources.values.contains(where: { $0.cursor == nil && !$0.isMissing })
        else { return }
        let callers = waiting
        waiting = []
        for then in callers { then() }
    }
}

import PostriderNotifications

/// Where a program that follows the trace of a cluster is, at each node: `a@3:120,b@1:77`.
struct TraceCursor {
    /// The cursors by the nodes' names.
    var positions: [String: String] = [:]

    /// Reads a cursor. Parts that are none are left out.
    init(_ text: String) {
        for part in text.split(separator: ",") {
            let pair = part.split(separator: "@", maxSplits: 1).map(String.init)
            if pair.count == 2 { positions[pair[0]] = pair[1] }
        }
    }

    /// The cursor as text.
    var text: String {
        positions.sorted { $0.key < $1.key }.map { "\($0.key)@\($0.value)" }.joined(separator: ",")
    }
}

extension Control.Trace {
    /// The last pushes of all nodes, by the time at which they were accepted.
    init(ofNodes parts: [(name: String, trace: Control.Trace)], last: Int) {
        var (pushes, refusals, starts) = ([Control.TracedPush](), [Control.TracedRefusal](), [Int64]())
        for (name, trace) in parts {
            pushes += trace.pushes.told(by: name)
            refusals += trace.refusals.told(by: name)
            // The start of a node says nothing about the pushes of others.
            if !trace.pushes.isEmpty { starts += trace.starts }
        }
        pushes.sort { ($0.acceptedAt, $0.row) < ($1.acceptedAt, $1.row) }
        refusals.sort { ($0.at, $0.connection) < ($1.at, $1.connection) }
        self.init(
            pushes: Array(pushes.suffix(last)), starts: starts.sorted(),
            refusals: Array(refusals.suffix(last)),
            lost: parts.reduce(0) { $0 + $1.trace.lost },
            untoldRefusals: parts.reduce(0) { $0 + $1.trace.untoldRefusals },
            sample: parts.map(\.trace.sample).max() ?? 1)
    }

    /// Adds what nodes have recorded of pushes that others have accepted, because they have the devices since then.
    mutating func add(_ parts: [(name: String, events: [Control.TracedEvent])]) {
        var further: [Int64: [Control.TracedEvent]] = [:]
        for (name, events) in parts {
            for event in events.told(by: name) { further[event.row, default: []].append(event) }
        }
        for index in pushes.indices {
            if let events = further[pushes[index].row] { pushes[index].add(events) }
        }
    }
}

extension Control.TracedPush {
    /// Adds events that other nodes have recorded. Each event names its node then.
    fileprivate mutating func add(_ further: [Control.TracedEvent]) {
        let others = further.filter { $0.node != node }
        guard !others.isEmpty else { return }
        var all = events.told(by: node)
        for event in others {
            // An agent repeats what it reported just before it lost its link, perhaps to another node.
            let isRepeated =
                event.deviceAt != nil
                && all.contains { $0.what == event.what && $0.deviceAt == event.deviceAt }
            if !isRepeated { all.append(event) }
        }
        isCut = isCut || all.count > Limits.tracedEvents
        events = [].joined(with: all.inOrder)
    }
}

extension Control.TraceFeed {
    /// What was recorded at all nodes, by its time.
    init(ofNodes parts: [(name: String, feed: Control.TraceFeed)], cursor: TraceCursor) {
        self.init(
            pushes: parts.flatMap { $0.feed.pushes.told(by: $0.name) }
                .sorted { ($0.acceptedAt, $0.row) < ($1.acceptedAt, $1.row) },
            events: parts.flatMap { $0.feed.events.told(by: $0.name) }.inOrder, cursor: cursor.text,
            lost: parts.reduce(0) { $0 + $1.feed.lost })
    }
}

/// Something that names the node of a cluster that has told it.
protocol ToldByNode {
    var node: String? { get set }
}

extension Control.TracedPush: ToldByNode {}
extension Control.TracedRefusal: ToldByNode {}
extension Control.TracedEvent: ToldByNode {}
extension Control.DeviceEvent: ToldByNode {}

extension Array where Element: ToldByNode {
    /// The same, each with the name of the node that has told it.
    func told(by node: String?) -> [Element] {
        map { one in
            var one = one
            one.node = node
            return one
        }
    }
}

extension [Control.TracedEvent] {
    /// The events by their times. Those of one moment keep their order, which is that of their node.
    fileprivate var inOrder: [Control.TracedEvent] {
        enumerated().sorted { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }.map(\.element)
    }
}

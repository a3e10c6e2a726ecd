import PostriderNotifications

/// A push that a node of the cluster has accepted, as other nodes have to know it to find what they know of its life:
/// after its device has moved, another node records what happens to it, by its row.
struct TracedRow: Hashable, Sendable {
    /// The row, which is the same at all nodes and in the database.
    let row: QueueRow
    /// The `apns-id`.
    let identity: NotificationIdentity
    /// The device; nil for a broadcast.
    let device: DeviceIdentity?
    let acceptedAt: Moment
}

/// Finds the events of pushes that other nodes have accepted, one segment at a time: backwards, until a segment that
/// was begun before the oldest of them was accepted.
struct TraceEventSearch {
    private let wanted: [QueueRow: TracedRow]
    /// The rows of each identity, in order: devices report by identity.
    private let namesakes: [NotificationIdentity: [QueueRow]]
    /// Whether pushes that this node has accepted itself are left out.
    private let isAboutOthers: Bool
    private let since: Moment
    private var segment: Int
    private var found: [QueueRow: [Control.TracedEvent]] = [:]
    /// The pushes that this node has accepted.
    private var own: Set<QueueRow> = []

    /// Clocks of two nodes may differ by this.
    private static let slackMilliseconds: Int64 = 60_000

    init(_ rows: [TracedRow], in store: any TraceStore, isAboutOthers: Bool) {
        wanted = Dictionary(rows.map { ($0.row, $0) }, uniquingKeysWith: { first, _ in first })
        namesakes = Dictionary(grouping: rows, by: \.identity).mapValues { $0.map(\.row).sorted() }
        self.isAboutOthers = isAboutOthers
        let oldest = rows.map(\.acceptedAt).min() ?? Moment(milliseconds: .max)
        since = oldest.advanced(byMilliseconds: 0 - Self.slackMilliseconds)
        segment = store.segments.upperBound
    }

    /// The events, each with its row, in the order in which they were recorded.
    var events: [Control.TracedEvent] {
        found.keys.sorted().flatMap { row in
            isAboutOthers && own.contains(row) ? [] : found[row] ?? []
        }
    }

    /// Reads one segment. Returns true if it was the last.
    mutating func step(_ store: any TraceStore) throws(StoreError) -> Bool {
        guard store.segments.contains(segment) else { return true }
        var (newer, isOld, isFirst) = (found, false, true)
        found = [:]
        _ = try store.visit(from: TracePosition(segment: segment), limit: .max) { record in
            if isFirst { isOld = record.moment < since }
            isFirst = false
            take(record)
        }
        for (row, events) in found { newer[row] = events.joined(with: newer[row] ?? []) }
        found = newer
        segment -= 1
        return isOld
    }

    private mutating func take(_ record: TraceRecord) {
        switch record {
        case .acceptance(let push): if wanted[push.row] != nil { own.insert(push.row) }
        case .event(let event):
            if wanted[event.row] != nil { add(Control.TracedEvent(event, [:])) }
        case .report(let report):
            let rows = report.row.value > 0 ? [report.row] : namesakes[report.identity] ?? []
            guard let row = rows.last(where: { wanted[$0]?.device == report.device }) else { return }
            var event = Control.TracedEvent(report.event(of: row), [:])
            event.text = report.text.isEmpty ? nil : report.text
            add(event)
        }
    }

    private mutating func add(_ event: Control.TracedEvent) {
        found[QueueRow(event.row), default: []].addBounded(event)
    }
}

extension TraceRecord {
    /// When it was recorded.
    fileprivate var moment: Moment {
        switch self {
        case .acceptance(let push): push.moment
        case .event(let event): event.moment
        case .report(let report): report.moment
        }
    }
}

extension [Control.TracedEvent] {
    /// Adds an event of a push. If there are very many, the first are kept, and the last place has the latest.
    mutating func addBounded(_ event: Control.TracedEvent) {
        if count >= Limits.tracedEvents { removeLast() }
        append(event)
    }

    /// These events and later ones, as many as an answer holds.
    func joined(with later: [Control.TracedEvent]) -> [Control.TracedEvent] {
        var all = self
        for event in later { all.addBounded(event) }
        return all
    }
}

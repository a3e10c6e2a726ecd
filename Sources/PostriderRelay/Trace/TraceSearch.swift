import PostriderNotifications

/// A filter for pushes.
struct TraceFilter: Sendable {
    /// An `apns-id` or `apns-unique-id`.
    var identity: NotificationIdentity?
    var device: DeviceIdentity?
    var topic: Topic?
    var environment: Environment?
    /// The push itself, if a node of the cluster is known to have accepted it.
    var known: TracedRow?
    /// Only refused pushes.
    var isAboutRefusals = false

    /// Whether refused pushes are asked for, too.
    var wantsRefusals: Bool { isAboutRefusals || identity != nil }

    /// Whether a refusal matches.
    func matches(_ refusal: TraceRefusal) -> Bool {
        if let identity, refusal.identity != identity { return false }
        if let topic, refusal.topic != topic { return false }
        if let environment, refusal.environment != environment { return false }
        return device == nil
    }

    /// Whether a push matches.
    func matches(_ push: TraceAcceptance) -> Bool {
        if let identity, push.identity != identity, push.uniqueIdentity != identity { return false }
        if let device, push.device != device { return false }
        if let topic, push.topic != topic { return false }
        if let environment, push.target.environment != environment { return false }
        return true
    }
}

/// A question to the trace.
enum TraceQuestion: Sendable {
    /// The lives of the last pushes that match.
    case search(TraceFilter, last: Int)
    /// How far the push of this identity has come, if it matches: answered once it has reached the stage, or after some
    /// seconds.
    case wait(NotificationIdentity, PushWait, matching: TraceFilter = TraceFilter())
    /// What this node knows of pushes that other nodes have accepted.
    case events(of: [TracedRow])
    /// What was recorded after a position; nil for the current position.
    case feed(after: TracePosition?)
}

/// Assembles the lives of pushes from the trace, one segment at a time, so that its thread can write new records in
/// between.
///
/// It reads backwards until enough pushes are found, then forwards from the oldest of them for their events, then
/// backwards again for the identities of pushes that replaced them.
struct TraceSearch {
    /// One push.
    struct Life {
        let acceptance: TraceAcceptance
        var events: [TraceEvent] = []
        /// The texts of reported events, by their index in ``events``.
        var texts: [Int: String] = [:]
        /// Whether it had more events than an answer holds.
        var isCut = false
    }

    private enum Phase {
        case finding(segment: Int)
        case following(segment: Int)
        case naming(segment: Int)
        case done
    }

    /// When the relay started, as far as it matters for these pushes: the last hundred times.
    private(set) var starts: [Moment] = []
    /// The identities of rows that the events mention.
    private(set) var names: [QueueRow: NotificationIdentity] = [:]
    /// The pushes, in the order in which they were accepted.
    var found: [Life] { order.compactMap { lives[$0] } }

    let filter: TraceFilter
    let last: Int
    /// Whether the identities of other pushes are wanted.
    private let seeksNames: Bool
    private var order: [QueueRow] = []
    private var lives: [QueueRow: Life] = [:]
    /// The rows of each identity, in order: devices report by identity.
    private var namesakes: [NotificationIdentity: [QueueRow]] = [:]
    private var unnamed: Set<QueueRow> = []
    private var phase: Phase

    /// A search for the last pushes that match a filter.
    init(_ filter: TraceFilter, last: Int, in store: any TraceStore, seeksNames: Bool = true) {
        precondition(1...Limits.tracedPushes ~= last)
        self.filter = filter
        self.last = last
        self.seeksNames = seeksNames
        phase = filter.isAboutRefusals ? .done : .finding(segment: store.segments.upperBound)
    }

    /// Reads one segment. Returns true if it was the last.
    mutating func step(_ store: any TraceStore) throws(StoreError) -> Bool {
        switch phase {
        case .finding(let segment): try find(in: segment, of: store)
        case .following(let segment): try follow(segment, of: store)
        case .naming(let segment): try name(from: segment, of: store)
        case .done: break
        }
        if case .done = phase { return true }
        return false
    }

    private mutating func find(in segment: Int, of store: any TraceStore) throws(StoreError) {
        var some: [TraceAcceptance] = []
        let room = last - order.count
        try Self.visit(segment, of: store) { record in
            guard case .acceptance(let push) = record, filter.matches(push) else { return }
            some.append(push)
            if some.count >= room * 2 { some.removeFirst(some.count - room) }
        }
        some = some.suffix(room)
        for push in some { lives[push.row] = Life(acceptance: push) }
        order = some.map(\.row) + order
        let isEnough = order.count == last || segment <= store.segments.lowerBound
        if !isEnough {
            phase = .finding(segment: segment - 1)
        } else {
            for row in order {
                if let identity = lives[row]?.acceptance.identity {
                    namesakes[identity, default: []].append(row)
                }
            }
            phase = order.isEmpty ? .done : .following(segment: segment)
        }
    }

    private mutating func follow(_ segment: Int, of store: any TraceStore) throws(StoreError) {
        let since = order.first.flatMap { lives[$0]?.acceptance.moment }
        try Self.visit(segment, of: store) { record in
            switch record {
            case .acceptance: break
            case .event(let event) where event.kind == .started:
                if let since, event.moment >= since { starts = starts.suffix(99) + [event.moment] }
            case .event(let event):
                if let index = lives.index(forKey: event.row) { lives.values[index].add(event) }
            case .report(let report): take(report)
            }
        }
        guard segment >= store.segments.upperBound else {
            phase = .following(segment: segment + 1)
            return
        }
        guard seeksNames else {
            phase = .done
            return
        }
        for life in lives.values {
            for event in life.events where event.namesAnother { unnamed.insert(QueueRow(event.detail)) }
        }
        for row in unnamed { names[row] = lives[row]?.acceptance.identity }
        unnamed.subtract(names.keys)
        phase = unnamed.isEmpty ? .done : .naming(segment: store.segments.upperBound)
    }

    /// A device's report counts only for pushes that were sent to it. If it contains no row, it is about the latest
    /// push of its identity.
    private mutating func take(_ report: TraceReport) {
        let candidates = report.row.value > 0 ? [report.row] : namesakes[report.identity] ?? []
        let row = candidates.last { row in
            lives[row].map { $0.acceptance.device == report.device && $0.wasSent } ?? false
        }
        guard let row else { return }
        let event = report.event(of: row)
        // An agent repeats what it reported just before it lost its link.
        guard lives[row]?.has(event) == false else { return }
        lives[row]?.add(event, text: report.text)
    }

    private mutating func name(from segment: Int, of store: any TraceStore) throws(StoreError) {
        try Self.visit(segment, of: store) { record in
            guard case .acceptance(let push) = record, unnamed.remove(push.row) != nil else { return }
            names[push.row] = push.identity
        }
        let isOver = unnamed.isEmpty || segment <= store.segments.lowerBound
        phase = isOver ? .done : .naming(segment: segment - 1)
    }

    /// Reads a whole segment, unless it was removed meanwhile.
    private static func visit(
        _ segment: Int, of store: any TraceStore, _ visit: (TraceRecord) -> Void
    ) throws(StoreError) {
        guard store.segments.contains(segment) else { return }
        _ = try store.visit(from: TracePosition(segment: segment), limit: .max, visit)
    }
}

extension TraceSearch.Life {
    fileprivate var wasSent: Bool { events.contains { $0.kind == .sent || $0.kind == .acknowledged } }

    /// Adds an event. If there are very many, the first are kept, and the last place has the latest.
    fileprivate mutating func add(_ event: TraceEvent, text: String = "") {
        if events.count == Limits.tracedEvents {
            isCut = true
            events.removeLast()
        }
        texts[events.count] = text.isEmpty ? nil : text
        events.append(event)
    }

    /// Whether a device has reported the same event before.
    fileprivate func has(_ event: TraceEvent) -> Bool {
        events.contains { $0.kind == event.kind && $0.detail == event.detail }
    }
}

extension TraceEvent {
    /// Whether its detail is the row of another push.
    var namesAnother: Bool { kind == .replaced || kind == .merged }
}

import PostriderNotifications

/// Which pushes are asked for.
struct TraceFilter: Sendable {
    /// An `apns-id` or `apns-unique-id`.
    var identity: NotificationIdentity?
    var device: DeviceIdentity?
    var topic: Topic?
    /// Only refused pushes.
    var isAboutRefusals = false

    /// Whether refused pushes are asked for, too.
    var wantsRefusals: Bool { isAboutRefusals || identity != nil }

    /// Whether it lets a refusal through.
    func matches(_ refusal: TraceRefusal) -> Bool {
        if let identity, refusal.identity != identity { return false }
        if let topic, refusal.topic != topic { return false }
        return device == nil
    }

    /// Whether it lets a push through.
    func matches(_ push: TraceAcceptance) -> Bool {
        if let identity, push.identity != identity, push.uniqueIdentity != identity { return false }
        if let device, push.device != device { return false }
        if let topic, push.topic != topic { return false }
        return true
    }
}

/// What the operator asks of the trace.
enum TraceQuestion: Sendable {
    /// The lives of the last so many pushes.
    case search(TraceFilter, last: Int)
    /// How far a push has come, once it has come so far or some seconds later.
    case wait(NotificationIdentity, PushProgress.Stage, seconds: Int)
    /// What was written down from here on, or, for nil, where that begins now.
    case feed(after: TracePosition?)
}

/// The lives of pushes, put together from a trace segment by segment, so that its thread writes down what arrives
/// meanwhile.
///
/// Backwards until enough pushes are found; forwards from the oldest of them for what happened to them; and backwards
/// again for the names of those that replaced them.
struct TraceSearch {
    /// One push.
    struct Life {
        let acceptance: TraceAcceptance
        var events: [TraceEvent] = []
        /// The texts of the events that devices reported, by their places among ``events``.
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

    /// When the relay started, as far as it concerns these pushes: the last hundred times.
    private(set) var starts: [Moment] = []
    /// The identities of the rows that are spoken of.
    private(set) var names: [QueueRow: NotificationIdentity] = [:]
    /// The pushes, in the order in which they were accepted.
    var found: [Life] { order.compactMap { lives[$0] } }

    let filter: TraceFilter
    let last: Int
    /// Whether the names of other pushes are of interest.
    private let seeksNames: Bool
    private var order: [QueueRow] = []
    private var lives: [QueueRow: Life] = [:]
    /// The rows of each identity, in order: devices report by it.
    private var namesakes: [NotificationIdentity: [QueueRow]] = [:]
    private var unnamed: Set<QueueRow> = []
    private var phase: Phase

    /// A search for the last so many pushes that a filter lets through.
    init(_ filter: TraceFilter, last: Int, in store: any TraceStore, seeksNames: Bool = true) {
        precondition(1...Limits.tracedPushes ~= last)
        self.filter = filter
        self.last = last
        self.seeksNames = seeksNames
        phase = filter.isAboutRefusals ? .done : .finding(segment: store.segments.upperBound)
    }

    /// Goes through one segment. True: that was all.
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

    /// A device is believed what it says of pushes that were sent to it. One that names no row means the latest of its
    /// identity.
    private mutating func take(_ report: TraceReport) {
        let candidates = report.row.value > 0 ? [report.row] : namesakes[report.identity] ?? []
        let row = candidates.last { row in
            lives[row].map { $0.acceptance.device == report.device && $0.wasSent } ?? false
        }
        guard let row else { return }
        let event = report.event(of: row)
        // An agent sends again what it reported just before it lost its link.
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

    /// Visits a whole segment, unless it has gone meanwhile.
    private static func visit(
        _ segment: Int, of store: any TraceStore, _ visit: (TraceRecord) -> Void
    ) throws(StoreError) {
        guard store.segments.contains(segment) else { return }
        _ = try store.visit(from: TracePosition(segment: segment), limit: .max, visit)
    }
}

extension TraceSearch.Life {
    fileprivate var wasSent: Bool { events.contains { $0.kind == .sent || $0.kind == .acknowledged } }

    /// Takes on what happened next. Of very many events the first stay, and the latest in the last place.
    fileprivate mutating func add(_ event: TraceEvent, text: String = "") {
        if events.count == Limits.tracedEvents {
            isCut = true
            events.removeLast()
        }
        texts[events.count] = text.isEmpty ? nil : text
        events.append(event)
    }

    /// Whether a device has reported the same before.
    fileprivate func has(_ event: TraceEvent) -> Bool {
        events.contains { $0.kind == event.kind && $0.detail == event.detail }
    }
}

extension TraceEvent {
    /// Whether its detail is the row of another push.
    var namesAnother: Bool { kind == .replaced || kind == .merged }
}

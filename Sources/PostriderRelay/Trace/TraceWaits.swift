import PostriderNotifications

/// Callers that wait until a push has reached a stage. They are told of records as these are written.
struct TraceWaits {
    /// One waiting caller.
    struct Wait {
        let identity: NotificationIdentity
        let stage: PushProgress.Stage
        /// The pushes that may be meant.
        fileprivate let filter: TraceFilter
        let ticket: UInt64
        let asker: Int
        /// When its time is over, in monotonic nanoseconds.
        let deadline: UInt64
        fileprivate(set) var progress = PushProgress()
        /// The push, once it is known.
        fileprivate(set) var push: TracedRow?
        /// When the last thing happened to it.
        fileprivate(set) var latestAt: Moment?
        /// Whether the search for what was known before has ended. Until then the caller is not told that time is over.
        fileprivate var isSearched = false

        init(
            for identity: NotificationIdentity, _ stage: PushProgress.Stage,
            matching filter: TraceFilter = TraceFilter(), ticket: UInt64, asker: Int, deadline: UInt64
        ) {
            (self.identity, self.stage, self.filter) = (identity, stage, filter)
            (self.ticket, self.asker, self.deadline) = (ticket, asker, deadline)
            if let known = filter.known { follow(known) }
        }

        fileprivate mutating func follow(_ push: TracedRow) {
            progress.accepted()
            self.push = push
            latestAt = push.acceptedAt
        }

        fileprivate mutating func take(_ event: Control.TracedEvent) {
            progress.take(event)
            latestAt = Moment(milliseconds: max(latestAt?.milliseconds ?? .min, event.at))
        }

        /// Whether there is nothing more to wait for.
        var isSettled: Bool { progress.state(of: stage) != .underWay }
    }

    private var waits: [UInt64: Wait] = [:]
    private var rows: [QueueRow: Set<UInt64>] = [:]
    private var identities: [NotificationIdentity: Set<UInt64>] = [:]
    private var lastKey: UInt64 = 0

    /// How many callers wait.
    var count: Int { waits.count }
    /// When the time of the first is over; nil if nobody waits but for a search.
    var nextDeadline: UInt64? { waits.values.filter(\.isSearched).map(\.deadline).min() }

    /// Adds a caller and returns its key.
    mutating func add(_ wait: Wait) -> UInt64 {
        lastKey += 1
        waits[lastKey] = wait
        identities[wait.identity, default: []].insert(lastKey)
        if let push = wait.push { rows[push.row, default: []].insert(lastKey) }
        return lastKey
    }

    /// A search has found what this node knows of the push of a caller. Returns the wait if it is over now.
    mutating func found(_ key: UInt64, _ events: [Control.TracedEvent]) -> Wait? {
        waits[key]?.isSearched = true
        for event in events { waits[key]?.take(event) }
        return settled([key]).first
    }

    /// The search for a caller has failed. The caller is told of records from now on.
    mutating func notFound(_ key: UInt64) { waits[key]?.isSearched = true }

    /// A search has found the push of a caller. Returns the wait if it is over now.
    mutating func found(_ key: UInt64, _ life: TraceSearch.Life?, refusal: TraceRefusal?) -> Wait? {
        guard waits[key] != nil else { return nil }
        waits[key]?.isSearched = true
        if let refusal, life == nil {
            waits[key]?.progress.refused(refusal.reason.status, refusal.reason.rawValue)
        }
        if let life {
            follow(life.acceptance, key)
            for (index, event) in life.events.enumerated() {
                var told = Control.TracedEvent(event, [:])
                told.text = life.texts[index]
                waits[key]?.take(told)
            }
        }
        return settled([key]).first
    }

    /// These records were written. Returns the waits that are over now.
    mutating func take(_ records: [TraceRecord]) -> [Wait] {
        guard !waits.isEmpty else { return [] }
        var touched: Set<UInt64> = []
        for record in records {
            switch record {
            case .acceptance(let push):
                for key in keys(of: push) {
                    follow(push, key)
                    touched.insert(key)
                }
            case .event(let event):
                for key in rows[event.row] ?? [] {
                    waits[key]?.take(Control.TracedEvent(event, [:]))
                    touched.insert(key)
                }
            case .report(let report):
                for key in keys(of: report) {
                    var told = Control.TracedEvent(report)
                    if told.what == "merged" { told.other = nil }
                    waits[key]?.take(told)
                    touched.insert(key)
                }
            }
        }
        return settled(touched)
    }

    /// These pushes were refused. Returns the waits that are over now.
    mutating func take(_ refusals: [TraceRefusal]) -> [Wait] {
        guard !waits.isEmpty else { return [] }
        var touched: Set<UInt64> = []
        for refusal in refusals {
            guard let identity = refusal.identity else { continue }
            for key in identities[identity] ?? []
            where waits[key]?.push == nil && waits[key]?.filter.matches(refusal) == true {
                waits[key]?.progress.refused(refusal.reason.status, refusal.reason.rawValue)
                touched.insert(key)
            }
        }
        return settled(touched)
    }

    /// Returns the waits whose time is over; for nil, all.
    mutating func takeDue(now: UInt64?) -> [Wait] {
        let due = waits.filter { _, wait in now.map { wait.isSearched && wait.deadline <= $0 } ?? true }
        return due.keys.sorted().compactMap { remove($0) }
    }

    private mutating func follow(_ push: TraceAcceptance, _ key: UInt64) {
        waits[key]?.follow(TracedRow(push))
        rows[push.row, default: []].insert(key)
    }

    /// The callers that wait for a push with this `apns-id` or `apns-unique-id` and have not been assigned one.
    private func keys(of push: TraceAcceptance) -> Set<UInt64> {
        var keys = identities[push.identity] ?? []
        if let unique = push.uniqueIdentity { keys.formUnion(identities[unique] ?? []) }
        return keys.filter { waits[$0]?.push == nil && waits[$0]?.filter.matches(push) == true }
    }

    private func keys(of report: TraceReport) -> Set<UInt64> {
        let keys = report.row.value > 0 ? rows[report.row] : identities[report.identity]
        return (keys ?? []).filter { waits[$0]?.push?.device == report.device }
    }

    private mutating func settled(_ keys: Set<UInt64>) -> [Wait] {
        keys.sorted().filter { waits[$0]?.isSettled == true }.compactMap { remove($0) }
    }

    private mutating func remove(_ key: UInt64) -> Wait? {
        guard let wait = waits.removeValue(forKey: key) else { return nil }
        identities[wait.identity]?.remove(key)
        if identities[wait.identity]?.isEmpty == true { identities[wait.identity] = nil }
        if let row = wait.push?.row {
            rows[row]?.remove(key)
            if rows[row]?.isEmpty == true { rows[row] = nil }
        }
        return wait
    }
}

extension Control {
    /// `GET /v1/pushes/<apns-id>?wait=STAGE&timeout=SECONDS`.
    public struct PushState: Codable, Sendable {
        /// Its `apns-id`, as it was asked for.
        public var identity: String
        /// The stage that was waited for.
        public var wait: PushProgress.Stage
        /// `reached`, `failed`, or `underWay` if the time was over first.
        public var state: String
        /// Why it has failed.
        public var failure: String?
        /// The stages that were reached.
        public var stages: [PushProgress.Stage]
        /// A phrase about where the push is.
        public var position: String
        /// Between nodes: the push, if the node knows which it is.
        var push: PushRow?
        /// Between nodes: when the last thing that the node knows of happened to it.
        var latestAt: Int64?

        /// This state, as programs get it.
        var told: PushState {
            var told = self
            (told.push, told.latestAt) = (nil, nil)
            return told
        }
    }

    /// A push by its row, between nodes.
    struct PushRow: Codable, Hashable, Sendable {
        var row: Int64
        var identity: String
        var device: String?
        var acceptedAt: Int64
    }
}

extension TraceWaits.Wait {
    /// The answer to the waiting caller.
    var pushState: Control.PushState {
        var told = Control.PushState(
            identity: identity.description, wait: stage, state: "reached", failure: nil,
            stages: PushProgress.Stage.allCases.filter(progress.stages.contains), position: progress.position,
            push: push.map { Control.PushRow($0) }, latestAt: latestAt?.milliseconds)
        switch progress.state(of: stage) {
        case .reached: break
        case .underWay: told.state = "underWay"
        case .failed(let reason): (told.state, told.failure) = ("failed", reason)
        }
        return told
    }
}

extension Control.PushRow {
    init(_ push: TracedRow) {
        self.init(
            row: push.row.value, identity: push.identity.description, device: push.device?.description,
            acceptedAt: push.acceptedAt.milliseconds)
    }

    /// The push; nil if a node has sent an identity that has not the form of one.
    var traced: TracedRow? {
        NotificationIdentity(identity).map { identity in
            TracedRow(
                row: QueueRow(row), identity: identity, device: device.flatMap(DeviceIdentity.init(hex:)),
                acceptedAt: Moment(milliseconds: acceptedAt))
        }
    }
}

extension Control.TracedPush {
    /// What other nodes need to find their events of the push; nil if its identity has not the form of one.
    var traced: TracedRow? {
        Control.PushRow(row: row, identity: identity, device: device, acceptedAt: acceptedAt).traced
    }
}

extension TracedRow {
    init(_ push: TraceAcceptance) {
        self.init(
            row: push.row, identity: push.identity, device: push.device, acceptedAt: push.moment)
    }
}

package import PostriderNotifications

/// Makes spans of what the relay's trace records of pushes. Pure and bounded.
///
///     the provider's span ── accept ─┬─ commit
///                                    └─ deliver ── hand over ── observer
///
/// A broadcast has the span `accept`, and `deliver` from each shard that has subscribers, at each node of a cluster.
package struct SpanTracker {
    private struct Push {
        let wanted: SpanPush
        /// When the device's home had it.
        var queuedAt: Moment
        var isAnswered: Bool
        var sentAt: Moment?
        var deliveries = 0
        var acknowledgedAt: Moment?
        /// When the device has started its handler, by the device's clock.
        var begunAt: Moment?
        /// How often the app or handler has ended.
        var attempts = 0
    }

    private var pushes: [QueueRow: Push] = [:]
    private var order: ArraySlice<QueueRow> = []
    private var spans: [PushSpan] = []
    /// Distinguishes the spans of a broadcast from those that other nodes make of it.
    private let node: UInt32

    /// A tracker that follows no push.
    ///
    /// - Parameter node: a random number of the relay's process.
    package init(node: UInt32) { self.node = node }

    /// Follows these pushes from now on. One that is followed already goes on.
    package mutating func expect(_ wanted: [SpanPush]) {
        for push in wanted where pushes[push.row] == nil {
            if order.count >= Limits.spanPushes, let oldest = order.popFirst() { pushes[oldest] = nil }
            pushes[push.row] = Push(wanted: push, queuedAt: push.acceptedAt, isAnswered: !push.isNew)
            order.append(push.row)
        }
    }

    /// The spans that end with these records.
    package mutating func take(_ records: [TraceRecord]) -> [PushSpan] {
        for record in records {
            guard var push = pushes[record.place] else { continue }
            pushes[record.place] = take(record, &push) ? push : nil
        }
        defer { spans = [] }
        return spans
    }

    /// Takes a record of a push. False: nothing more is expected.
    private mutating func take(_ record: TraceRecord, _ push: inout Push) -> Bool {
        switch record {
        case .acceptance(let acceptance):
            push.queuedAt = acceptance.moment
            // A broadcast is accepted when it is stored, and then answered at once.
            if push.wanted.channel != nil { answer(&push, at: acceptance.moment) }
            return true
        case .event(let event): return take(event, &push)
        case .report(let report):
            guard report.device == push.wanted.device else { return true }
            return take(report, &push)
        }
    }

    private mutating func take(_ event: TraceEvent, _ push: inout Push) -> Bool {
        let now = event.moment
        switch event.kind {
        case .stored:
            answer(&push, at: now)
            add(.commit, of: push, in: .accept, from: push.queuedAt, to: now)
        case .sent:
            push.sentAt = now
            push.deliveries += 1
            if !push.wanted.isStored { answer(&push, at: now) }
        case .returned: deliver(&push, at: now, failure: "the connection was lost")
        case .acknowledged:
            answer(&push, at: now)
            deliver(&push, at: now)
            push.acknowledgedAt = now
        case .broadcast: fanOut(event, push)
        case .skipped: fanOut(event, push, failure: "too much waited for these devices")
        case .replaced, .merged, .expired, .discarded, .dropped:
            let failure = event.kind == .replaced || event.kind == .merged ? nil : "\(event.kind)"
            answer(&push, at: now)
            deliver(&push, at: now, failure: failure)
            return false
        default: break
        }
        return true
    }

    private mutating func take(_ report: TraceReport, _ push: inout Push) -> Bool {
        switch report.kind {
        case .begun: push.begunAt = report.deviceMoment
        case .handedOver, .done: observe(report, &push)
        case .failed, .gaveUp: observe(report, &push, failure: report.text)
        case .postponed: observe(report, &push, failure: "postponed")
        default: break
        }
        return ![.handedOver, .done, .gaveUp, .replacedOnDevice, .merged].contains(report.kind)
    }

    private mutating func answer(_ push: inout Push, at moment: Moment) {
        guard !push.isAnswered else { return }
        push.isAnswered = true
        add(.accept, of: push, in: nil, from: push.wanted.acceptedAt, to: moment)
    }

    private mutating func deliver(_ push: inout Push, at moment: Moment, failure: String? = nil) {
        guard let sentAt = push.sentAt else { return }
        push.sentAt = nil
        add(.deliver, of: push, push.deliveries, in: .accept, from: sentAt, to: moment, failure)
    }

    /// A shard has sent a broadcast to its devices, or not. Shards do not wait for each other, so its record may come
    /// before that of the acceptance.
    private mutating func fanOut(_ event: TraceEvent, _ push: Push, failure: String? = nil) {
        let (shard, devices) = event.connection
        let number = Int(node) << 17 | (shard & 0xFFFF) << 1 | (failure == nil ? 0 : 1)
        add(
            .deliver, of: push, number, in: .accept, from: push.wanted.acceptedAt, to: event.moment, failure,
            devices: devices)
    }

    /// The app or handler has ended. Until it had the push, the device handed it over; the first time only.
    private mutating func observe(_ report: TraceReport, _ push: inout Push, failure: String? = nil) {
        let end = report.deviceMoment
        let took = report.tookMilliseconds
        let start =
            took > 0 ? end.advanced(byMilliseconds: -Int64(clamping: took)) : push.begunAt ?? end
        if push.attempts == 0 {
            // By two clocks: that of the relay may be ahead.
            let from = min(push.acknowledgedAt ?? start, start)
            add(.handOver, of: push, in: .deliver, push.deliveries, from: from, to: start)
        }
        push.attempts += 1
        push.begunAt = nil
        add(.observer, of: push, push.attempts, in: .handOver, from: start, to: end, failure)
    }

    private mutating func add(
        _ kind: PushSpan.Kind, of push: Push, _ number: Int = 0, in outer: PushSpan.Kind?,
        _ outerNumber: Int = 0, from start: Moment, to end: Moment, _ failure: String? = nil,
        devices: UInt64? = nil
    ) {
        let wanted = push.wanted
        spans.append(
            PushSpan(
                kind: kind, trace: wanted.trace, identifier: wanted.identifier(of: kind, number: number),
                parent: outer.map { wanted.identifier(of: $0, number: outerNumber) } ?? wanted.parent,
                start: min(start, end), end: end, failure: failure, devices: devices, push: wanted))
    }
}

extension TraceRecord {
    /// The row of the push; 0 if it is not known.
    fileprivate var place: QueueRow {
        if case .report(let report) = self { report.row } else { row }
    }
}

import FoundationEssentials
import PostriderCallbacks
import PostriderNotifications

/// Finds out from the records of the trace when a provider is to be called. It lives on the trace's thread, and writes
/// down what it learns, so that it goes on after a restart of the relay.
final class CallbackTracker {
    private struct Push {
        let wanted: CallbackPush
        var progress = PushProgress()
        /// The events that the provider was told.
        var told: Set<String> = []
    }

    /// The events that a provider is told, in the order of a push's life; `failed` is another one.
    private static let stages: [PushProgress.Stage] = [.delivered, .taken, .shown, .done]
    /// The most rows whose reports are kept in case their push becomes known: another shard's records may arrive first.
    private static let mostEarly = 4096

    private let configuration: CallbackConfiguration
    private var pushes: [QueueRow: Push] = [:]
    private var order: ArraySlice<QueueRow> = []
    private var rows: [NotificationIdentity: QueueRow] = [:]
    private var early: [QueueRow: [TraceReport]] = [:]
    private var earlyOrder: ArraySlice<QueueRow> = []
    private var messages: [CallbackMessage] = []
    private var records: [CallbackRecord] = []

    /// The highest row of the pushes of before; it may be unknown to all other files.
    let lastRow: QueueRow

    /// Takes up what was owed when the relay ended last.
    init(_ configuration: CallbackConfiguration) {
        self.configuration = configuration
        let backlog = configuration.store?.load() ?? CallbackBacklog()
        lastRow = backlog.lastRow
        for push in backlog.pushes {
            pushes[push.row] = Push(wanted: push.push, told: push.told)
            order.append(push.row)
            rows[push.push.identity] = push.row
        }
        let (allowed, others) = backlog.messages.reduce(into: ([CallbackMessage](), [CallbackMessage]())) {
            if configuration.policy.url($1.url.text) == nil { $0.1.append($1) } else { $0.0.append($1) }
        }
        configuration.store?.append(others.map { .settled($0.id) })
        configuration.counts.add(others.count, .ignored)
        if !allowed.isEmpty { configuration.send(allowed) }
    }

    /// The providers of these pushes want to be called.
    func expect(_ wanted: [CallbackPush]) {
        configuration.store?.append(wanted.map(CallbackRecord.expected))
        for push in wanted {
            if order.count >= Limits.callbackPushes, let oldest = order.popFirst() { forget(oldest) }
            pushes[push.row] = Push(wanted: push)
            order.append(push.row)
            rows[push.identity] = push.row
            for report in early.removeValue(forKey: push.row) ?? [] { take(report) }
        }
        send()
    }

    /// These records are about to be written.
    func take(_ records: [TraceRecord]) {
        for record in records {
            switch record {
            case .acceptance: break
            case .event(let event):
                if event.kind == .merged {
                    follow(event.row, to: QueueRow(event.detail))
                } else if pushes[event.row] != nil {
                    take(Control.TracedEvent(event, [:]), of: event.row)
                }
            case .report(let report): take(report)
            }
        }
        send()
    }

    private func take(_ report: TraceReport) {
        let row = report.row.value > 0 ? report.row : rows[report.identity]
        guard let row, let push = pushes[row] else { return keep(report) }
        // A report counts only for pushes to that device.
        guard push.wanted.device == report.device, report.kind != .merged else { return }
        take(Control.TracedEvent(report), of: row)
    }

    private func take(_ event: Control.TracedEvent, of row: QueueRow) {
        guard var push = pushes[row] else { return }
        push.progress.take(event)
        for stage in Self.stages where push.progress.stages.contains(stage) {
            guard push.told.insert(stage.rawValue).inserted else { continue }
            tell(push, stage.rawValue, event)
        }
        if case .failed(let reason) = push.progress.state(of: .done), push.told.insert("failed").inserted {
            tell(push, "failed", event, reason)
        }
        pushes[row] = push
    }

    /// The same push was there already: what becomes of that one is what becomes of this.
    private func follow(_ row: QueueRow, to other: QueueRow) {
        guard let push = pushes.removeValue(forKey: row), pushes[other] == nil else { return }
        configuration.store?.append([.merged(push.wanted.row, into: other)])
        pushes[other] = push
        order.append(other)
        rows[push.wanted.identity] = other
    }

    private func forget(_ row: QueueRow) {
        guard let push = pushes.removeValue(forKey: row) else { return }
        if rows[push.wanted.identity] == row { rows[push.wanted.identity] = nil }
    }

    private func keep(_ report: TraceReport) {
        guard report.row.value > 0 else { return }
        if early[report.row] == nil {
            if earlyOrder.count >= Self.mostEarly, let oldest = earlyOrder.popFirst() { early[oldest] = nil }
            earlyOrder.append(report.row)
        }
        early[report.row, default: []].append(report)
    }

    private func send() {
        guard !messages.isEmpty else { return }
        // Written down first: whatever ends the relay, they are sent at least once.
        configuration.store?.append(records)
        configuration.send(messages)
        (messages, records) = ([], [])
    }

    private func tell(
        _ push: Push, _ what: String, _ event: Control.TracedEvent, _ reason: String? = nil
    ) {
        guard let url = configuration.policy.url(push.wanted.url) else { return }
        let identity = push.wanted.identity.description
        let content = CallbackContent(
            type: "push." + what, timestamp: CallbackContent.time(event.at),
            data: CallbackContent.Push(
                apnsID: identity, topic: push.wanted.topic.text, event: what,
                acceptedAt: push.wanted.acceptedAt.milliseconds, at: event.at, deviceAt: event.deviceAt,
                reason: reason))
        let row = push.wanted.row
        let message = CallbackMessage(id: "\(identity).\(row.value).\(what)", url: url, body: content.json)
        messages.append(message)
        records.append(.owed(message, row: row, event: what))
    }
}

/// The JSON of a callback (Standard Webhooks, "Payload structure").
private struct CallbackContent: Encodable {
    struct Push: Encodable {
        let apnsID: String
        let topic: String
        let event: String
        let acceptedAt: Int64
        let at: Int64
        let deviceAt: Int64?
        let reason: String?

        enum CodingKeys: String, CodingKey {
            case apnsID = "apns-id"
            case topic, event, acceptedAt, at, deviceAt, reason
        }
    }

    let type: String
    let timestamp: String
    let data: Push

    var json: [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(self) else {
            preconditionFailure("texts and numbers can be encoded")
        }
        return Array(data)
    }

    static func time(_ milliseconds: Int64) -> String {
        Date(timeIntervalSince1970: Double(milliseconds / 1000)).formatted(.iso8601)
    }
}

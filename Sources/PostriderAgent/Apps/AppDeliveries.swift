import PostriderCourier
import PostriderNotifications
import PostriderStorage
import PostriderTransport

/// Takes what arrives for apps, stores it, hands it over, and takes back what became of it.
///
///     relay ─arrived─▶ changes ─┬─ commit: one transaction ─▶ acknowledge ─▶ hand over to the topic's stream
///     app ──handled──▶ changes ─┘
///
/// The newest stream of a topic gets its notifications, in order.
final class AppDeliveries {
    /// How often a notification is handed over to an app that does not handle it.
    var mostAttempts = Limits.deliveryAttempts.usual
    /// The rows that failed and wait for their next attempt.
    let redelivery: RedeliveryQueue

    private let state: AgentState
    private let declared: DeclaredApps
    private let streams: AttachedStreams
    private let changes: TurnChanges
    private let lifecycle: AppLifecycle
    private let reporter: Reporter
    private let link: any OutboundLink
    private let trouble: StateTrouble
    private let scheduler: any Scheduler
    private let log: Log
    /// Finds apps that are stuck.
    private lazy var watch = HandlerWatch(
        scheduler, log: log, boundMilliseconds: { [declared] in declared.handlerMilliseconds(of: $0) },
        stuck: { [unowned self] in stuck($0, $1) })

    init(
        _ state: AgentState, declared: DeclaredApps, streams: AttachedStreams, changes: TurnChanges,
        redelivery: RedeliveryQueue, lifecycle: AppLifecycle, reporter: Reporter, link: any OutboundLink,
        trouble: StateTrouble, scheduler: any Scheduler, log: Log
    ) {
        self.state = state
        self.declared = declared
        self.streams = streams
        self.changes = changes
        self.redelivery = redelivery
        self.lifecycle = lifecycle
        self.reporter = reporter
        self.link = link
        self.trouble = trouble
        self.scheduler = scheduler
        self.log = log
    }

    private var now: Moment { Moment(milliseconds: scheduler.wallMilliseconds) }

    // MARK: The relay

    /// A notification arrived over the link. It is acknowledged when it is stored.
    func delivered(_ deliver: Deliver) {
        changes.acknowledgements.append(deliver.delivery)
        arrived(deliver)
    }

    /// A broadcast arrived over the link. It is stored like any notification, and is not acknowledged.
    func broadcast(_ deliver: Deliver) { arrived(deliver) }

    /// Keeps what arrived over the link until the end of the turn.
    private func arrived(_ deliver: Deliver) {
        if let record = state.apps[deliver.topic], record.isWanted {
            changes.arrivals.append(
                Inbox.Arrival(app: record.number, parcel: .remote(deliver.received(at: now))))
            streams.markDue(deliver.topic)
        } else {
            log.info(
                "a notification for \(deliver.topic), which no app wants, was dropped", kind: "unwanted",
                from: deliver.topic, fields: .init(topic: deliver.topic))
        }
    }

    /// The link is gone, so what arrived over it cannot be acknowledged any more. The relay sends it again, and the
    /// inbox recognises it.
    func linkEnded() { changes.acknowledgements.removeAll() }

    // MARK: Apps

    /// Whether apps have handled something that is not committed yet.
    var hasHandled: Bool { !changes.handled.isEmpty }

    /// An app has handled deliveries. Returns false if one of them was never sent to it.
    ///
    /// - Parameter output: the end of what its handler has written, if it has one.
    func handled(_ deliveries: [UInt64], by stream: AppStream, output: String? = nil) -> Bool {
        guard let rows = stream.settle(deliveries, at: scheduler.now) else { return false }
        changes.handled += rows.map(\.row)
        changes.unsettled.formUnion(rows.map(\.topic))
        let now = scheduler.now
        for row in rows {
            guard let push = row.reported else { continue }
            reporter.note(
                output == nil ? .handedOver : .done, of: push, tookMilliseconds: row.milliseconds(until: now),
                text: output ?? "")
        }
        for topic in Set(rows.map(\.topic)) { lifecycle.handle(.handled, topic) }
        streams.markDue(topicsOf: stream)
        return true
    }

    /// A delivery is of no use any more, so that the app does not get it.
    func drop(_ delivery: UInt64, of stream: AppStream) {
        let rows = stream.settle([delivery], at: scheduler.now) ?? []
        changes.handled += rows.map(\.row)
        changes.unsettled.formUnion(rows.map(\.topic))
        streams.markDue(topicsOf: stream)
    }

    /// An app could not handle a delivery. Returns false if it was never sent to it.
    func failed(_ failed: Failed, by stream: AppStream) -> Bool {
        guard let rows = stream.settle([failed.delivery], at: scheduler.now) else { return false }
        for handover in rows {
            // The row is not handed over again before the failure is counted.
            redelivery.hold(handover.row, of: handover.topic)
            fail(handover, failed.reason)
            streams.markDue(handover.topic)
        }
        return true
    }

    /// A handler asks to be started again later for a delivery. This attempt does not count.
    ///
    /// - Parameter times: how often it has asked for that.
    func postponed(_ delivery: UInt64, times: Int, text: String, by stream: AppStream) {
        if times <= Limits.reportedAttempts { report(.postponed, of: delivery, on: stream, text: text) }
        for handover in stream.settle([delivery], at: scheduler.now) ?? [] {
            redelivery.pause(handover.row, of: handover.topic, attempts: times)
            streams.markDue(handover.topic)
        }
    }

    /// A stream ends. If its connection broke, the oldest delivery under way counts as failed, because apps handle one
    /// after the other.
    func left(_ stream: AppStream, isBroken: Bool) {
        watch.forget(stream)
        if isBroken, !stream.isStuck, let oldest = stream.oldestUnderWay,
            streams.newest(of: oldest.topic) === stream
        {
            fail(oldest, Self.brokenReason)
        }
    }

    private static let brokenReason = "The app ended, or lost its connection, without having handled it."

    /// An app has not settled its deliveries in time: they have failed, as if the app had crashed. A process that the
    /// agent has started is ended. Any other loses its stream, so that it, or another process of the app, can attach
    /// again.
    private func stuck(_ stream: AppStream, _ business: AppStream.Business) {
        let topic = business.topic
        // A stream that is not the newest of any topic delays nothing. A single handler delays all topics of its
        // stream.
        guard streams.isNewest(stream), let oldest = stream.oldestUnderWay else { return }
        stream.isStuck = true
        changes.failures.append(
            Inbox.Failure(
                row: oldest.row, topic: topic,
                reason: "The app had not handled it after \(business.milliseconds / 1000) s.",
                reported: oldest.reported, tookMilliseconds: oldest.milliseconds(until: scheduler.now)))
        if lifecycle.isProcess(stream.process, of: topic) {
            lifecycle.handle(.stuck("\(business), and is ended"), topic)
        } else {
            log.warning("\(topic) \(business), and is disconnected", fields: .init(topic: topic))
            stream.end(
                .deadlineExceeded,
                "The app \(business): it is disconnected, and its deliveries are handed over again.")
        }
    }

    private func fail(_ handover: AppStream.Handover, _ reason: String) {
        changes.failures.append(
            Inbox.Failure(
                row: handover.row, topic: handover.topic, reason: reason, reported: handover.reported,
                tookMilliseconds: handover.milliseconds(until: scheduler.now)))
    }

    // MARK: Handlers

    /// Reports to the relay what became of a delivery, if the relay asked for reports.
    func report(_ kind: Report.Kind, of delivery: UInt64, on stream: AppStream, text: String = "") {
        guard let push = stream.handover(of: delivery)?.reported else { return }
        reporter.note(kind, of: push, text: text)
    }

    /// How often a delivery's notification has failed.
    func attempts(at delivery: UInt64, of stream: AppStream) -> Int {
        guard let row = stream.handover(of: delivery)?.row else { return 0 }
        do throws(StoreError) {
            return try state.deadLetters.attempts(at: row)
        } catch {
            trouble.note(error)
            return 0
        }
    }

    /// Hands a dead letter over again. Returns false if there is none in this row.
    func retryDeadLetter(_ row: Int64) throws(StoreError) -> Bool {
        guard let app = try state.deadLetters.retry(row) else { return false }
        if let record = state.apps.record(numbered: app) { streams.rewind([record.topic.text]) }
        return true
    }

    // MARK: The end of a turn

    /// Commits the changes of the turn, then acknowledges them. What cannot be stored is not acknowledged: the relay
    /// keeps it and sends it again over a new link.
    ///
    /// - Returns: false if the disk refuses the changes, so that they have to be tried again.
    func commit() -> Bool {
        let isChanged = !changes.isEmpty || reporter.needsCommit
        guard isChanged || !changes.acknowledgements.isEmpty else { return true }
        defer { changes.forgetArrivals() }
        do throws(StoreError) {
            if isChanged {
                let outcome = try state.inbox.commit(
                    changes.arrivals, handled: changes.handled, failures: changes.failures,
                    mostAttempts: mostAttempts, now: now,
                    within: { (outcome) throws(StoreError) in
                        try reporter.commit(report(of: outcome).ends(at: now))
                    })
                reporter.committed()
                report(of: outcome).tell()
            }
            changes.forgetSettled()
            if !changes.acknowledgements.isEmpty { link.send(.acknowledge(changes.acknowledgements)) }
            return true
        } catch {
            trouble.note(error)
            if !changes.arrivals.isEmpty || !changes.acknowledgements.isEmpty { link.startAnew() }
            return false
        }
    }

    private func report(of outcome: Inbox.Outcome) -> OutcomeReport {
        OutcomeReport(
            outcome, state: state, streams: streams, redelivery: redelivery, reporter: reporter, log: log)
    }

    /// Starts the apps for which something waits, and hands over what is due.
    func handOver() {
        let stored = state.inbox.takeStored()
        for topic in streams.dueTopics where !changes.unsettled.contains(topic) {
            lifecycle.startIfNeeded(topic)
            handOver(topic, stored)
        }
        // While the disk refuses to store that an app has handled something, the app gets nothing new: an agent that is
        // killed hands the uncommitted again, and apps remember no more than a window of deliveries.
        streams.dueTopics.formIntersection(changes.unsettled)
    }

    /// Sends a topic's newest stream as much as it has room for, in order. A stream that has been given all that was
    /// stored before this turn gets what the turn has stored as it is; for any other the inbox is read.
    private func handOver(_ topic: String, _ stored: [Inbox.Stored]) {
        guard let record = state.apps[topic], var present = streams.attachments[topic],
            let stream = present.streams.last, stream.hasRoom
        else { return }
        let fresh = stored.filter { $0.app == record.number }
        let count = state.inbox.storedCount(of: record.number)
        let isAtEnd = !fresh.isEmpty && present.storedCount == count - fresh.count
        var isAll = true
        let send = { (row: Int64, parcel: InboxContent) in
            if !self.redelivery.holds(row) { stream.send(parcel, from: row, at: self.scheduler.now) }
            present.lastRow = row
            isAll = stream.hasRoom
            return isAll
        }
        do throws(StoreError) {
            if isAtEnd {
                for message in fresh { guard send(message.row, message.parcel) else { break } }
            } else {
                try state.inbox.forEachPending(of: record.number, after: present.lastRow, send)
            }
            present.storedCount = isAll ? count : nil
        } catch {
            trouble.note(error)
        }
        streams.attachments[topic] = present
        watch.watch(stream)
    }
}

import PostriderCourier
import PostriderNotifications
import PostriderStorage
import PostriderTransport

/// Joins the link to the relay and the apps of the device. Its only I/O is that of the ``AgentState``.
///
///     relay ─delivered─▶ arrivals ─┬─ endTurn: one transaction ─▶ acknowledge ─▶ hand over to the topic's stream
///     app ───handled───▶ handled ──┘
///
/// All changes of one turn of the loop are committed together. A topic belongs to one user; the newest stream of a
/// topic gets its notifications, in order.
final class AppRouter {
    let state: AgentState
    /// The user of each topic that the operator has declared.
    var declarations: [String: UInt32]
    let scheduler: any Scheduler
    let log: Log
    /// The link to the relay. The owner of both sets it.
    weak var link: (any OutboundLink)? { didSet { reporter.link = link } }
    /// Reports to the relay what became of notifications.
    let reporter: Reporter
    /// The apps' user notification centres.
    private(set) lazy var center = LocalNotifications(state, router: self, scheduler: scheduler, log: log)

    /// Writes to the log while the disk refuses changes.
    let trouble: StateTrouble
    /// Whether the relay has to be told the delivery preferences again.
    var isReceptionStale = true
    /// Whether the device saves power.
    var savesPower = false {
        didSet { isReceptionStale = true }
    }
    /// Shows the alerts of apps. The owner of both sets it.
    weak var presenter: Presenter?
    /// Tells apps what happens to the device.
    private(set) lazy var system = SystemEvents(self, scheduler: scheduler, log: log)

    /// By topic: its streams, the newest last, and the last row that the newest has been given.
    var attachments: [String: TopicAttachments] = [:]
    var arrivals: [Inbox.Arrival] = []
    var acknowledgements: [UInt64] = []
    private var handled: [Int64] = []
    /// The topics of `handled`, until that is committed.
    private var unsettled: Set<String> = []
    var failures: [Inbox.Failure] = []
    /// How often a notification is handed over to an app that does not handle it.
    var mostAttempts = Limits.deliveryAttempts.usual
    /// The rows that failed and wait for their next attempt.
    private(set) lazy var redelivery = RedeliveryQueue(scheduler) { [unowned self] in retry($0) }
    /// Finds apps that are stuck.
    private(set) lazy var handlers = makeHandlerWatch(scheduler)
    /// The declared apps. The owner of both sets it.
    weak var lifecycle: AppLifecycle?
    /// The handlers. The owner of both sets it.
    weak var programs: HandlerPrograms?
    /// Topics that may have something to be handed over.
    var dueTopics: Set<String> = []
    /// Topics whose registration the relay was asked to end and has not ended yet. The app may have registered again
    /// meanwhile.
    var leaving: Set<String> = []
    /// Armed while the disk refuses a commit.
    private lazy var retry = scheduler.makeTimer { [unowned self] in endTurn() }

    /// Armed while the disk has no room to copy the write-ahead log into the database.
    private lazy var copying = scheduler.makeTimer { [unowned self] in endTurn(copiesLog: true) }

    private static let retryMilliseconds = 1000

    /// A router over this state.
    init(_ state: AgentState, declarations: [String: UInt32], scheduler: any Scheduler, log: Log) {
        self.state = state
        self.declarations = declarations
        self.scheduler = scheduler
        self.log = log
        trouble = StateTrouble(state, scheduler: scheduler, log: log)
        reporter = Reporter(state.reports, scheduler: scheduler, trouble: trouble)
    }

    /// All streams that are attached to a topic, each once.
    var streams: [AppStream] {
        var seen: Set<ObjectIdentifier> = []
        return attachments.values.flatMap(\.streams).filter { seen.insert(ObjectIdentifier($0)).inserted }
    }

    var now: Moment { Moment(milliseconds: scheduler.wallMilliseconds) }

    // MARK: Apps

    /// An app registers for its topic's token and notifications. The environment that was asked for last counts.
    func register(_ text: String, in environment: Environment = .production, for stream: AppStream) {
        do {
            let record = try admit(text, in: environment, for: stream)
            try center.applyDecision(about: record)
            attach(stream, to: text)
            center.tellStatus(of: record, to: stream)
            if let token = record.token {
                stream.tell(
                    .registered(Registered(topic: text, deviceToken: token, environment: environment)))
            } else {
                link?.send(.register(topic: text, environment: environment))
            }
        } catch let refusal as AppRefusal {
            log.notice(
                "user \(stream.user) was refused: \(refusal.reason)", kind: "app refused",
                from: "\(stream.user)", fields: .init(topic: text, reason: refusal.reason))
            stream.tell(.refused(Refused(topic: text, reason: refusal.reason)))
        } catch {
            trouble.note(error)
            stream.tell(
                .refused(Refused(topic: text, reason: "The agent cannot store the registration now.")))
        }
    }

    /// An app gives up its topic and everything that waits for it. Once the relay has ended the registration, another
    /// user may have the topic.
    func unregister(_ text: String, for stream: AppStream) {
        guard let record = state.apps[text], owner(of: record) == stream.user else {
            stream.tell(.unregistered(topic: text))
            return
        }
        if !give(up: record, for: stream) {
            stream.tell(.refused(Refused(topic: text, reason: "The agent cannot store the change now.")))
        }
    }

    /// An app has handled deliveries. Returns false if one of them was never sent to it.
    ///
    /// - Parameter output: the end of what its handler has written, if it has one.
    func handled(_ deliveries: [UInt64], by stream: AppStream, output: String? = nil) -> Bool {
        guard let rows = stream.settle(deliveries, at: scheduler.now) else { return false }
        handled += rows.map(\.row)
        unsettled.formUnion(rows.map(\.topic))
        for push in rows.compactMap(\.reported) {
            reporter.note(output == nil ? .handedOver : .done, of: push, text: output ?? "")
        }
        for topic in Set(rows.map(\.topic)) { lifecycle?.handle(.handled, topic) }
        for (topic, attachments) in attachments where attachments.streams.last === stream {
            dueTopics.insert(topic)
        }
        return true
    }

    /// An app could not handle a delivery. Returns false if it was never sent to it.
    func failed(_ failed: Failed, by stream: AppStream) -> Bool {
        guard let rows = stream.settle([failed.delivery], at: scheduler.now) else { return false }
        for handover in rows {
            // The row is not handed over again before the failure is counted.
            redelivery.hold(handover.row, of: handover.topic)
            failures.append(
                Inbox.Failure(
                    row: handover.row, topic: handover.topic, reason: failed.reason,
                    reported: handover.reported))
            dueTopics.insert(handover.topic)
        }
        return true
    }

    /// Whether apps have handled something that is not committed yet.
    var hasHandled: Bool { !handled.isEmpty }

    /// An app's stream has ended. What was under way on it waits again, for the stream that is now the newest. If the
    /// connection broke, the oldest delivery under way counts as failed, because apps handle one after the other.
    func left(_ stream: AppStream, isBroken: Bool = false) {
        center.left(stream)
        system.left(stream)
        handlers.forget(stream)
        if isBroken, !stream.isStuck, let oldest = stream.oldestUnderWay,
            attachments[oldest.topic]?.streams.last === stream
        {
            failures.append(
                Inbox.Failure(
                    row: oldest.row, topic: oldest.topic, reason: Self.brokenReason,
                    reported: oldest.reported))
        }
        for topic in attachments.keys { detach(stream, from: topic) }
    }

    private static let brokenReason = "The app ended, or lost its connection, without having handled it."

    func owner(of record: AppRecord) -> UInt32 { declarations[record.topic.text] ?? record.user }

    /// Begins the delivery of a topic to a stream.
    func attach(_ stream: AppStream, to topic: String) {
        if !stream.isGreeted { system.endMovement() }
        var present = attachments[topic] ?? TopicAttachments()
        guard present.streams.last !== stream else { return }
        present.streams.removeAll { $0 === stream }
        present.streams.append(stream)
        present.rewind()
        attachments[topic] = present
        isReceptionStale = true
        dueTopics.insert(topic)
        lifecycle?.handle(.attached, topic)
        // Sent before anything is handed over, which happens at the end of the turn.
        system.greet(stream)
    }

    // MARK: The end of a turn

    /// A topic may have something new in the inbox.
    func markDue(_ topic: String) { dueTopics.insert(topic) }

    /// Commits the changes of the turn, then acknowledges them, then hands over what is due.
    func endTurn(copiesLog: Bool = false) {
        let fresh = isChanged || !acknowledgements.isEmpty ? commit() : []
        if state.boundLog(isAnotherAttempt: copiesLog), !copying.isArmed {
            copying.arm(afterMilliseconds: Limits.logRetryMilliseconds)
        }
        trouble.look()
        presenter?.present()
        for topic in dueTopics where !unsettled.contains(topic) {
            callApp(topic)
            handOver(topic, fresh)
        }
        // While the disk refuses to store that an app has handled something, the app gets nothing new: an agent that is
        // killed hands the uncommitted again, and apps remember no more than a window of deliveries.
        dueTopics.formIntersection(unsettled)
        sayReception()
    }

    /// Whether the turn has brought something to commit.
    private var isChanged: Bool {
        !arrivals.isEmpty || !handled.isEmpty || !failures.isEmpty || reporter.needsCommit
    }

    /// Commits. What cannot be stored is not acknowledged: the relay keeps it and sends it again over a new link.
    ///
    /// - Returns: what was stored and waits now.
    private func commit() -> [Inbox.Stored] {
        defer {
            arrivals.removeAll(keepingCapacity: true)
            acknowledgements.removeAll(keepingCapacity: true)
        }
        var fresh: [Inbox.Stored] = []
        do throws(StoreError) {
            if isChanged {
                let outcome = try state.inbox.commit(
                    arrivals, handled: handled, failures: failures, mostAttempts: mostAttempts, now: now,
                    within: { (outcome) throws(StoreError) in try reporter.commit(ends(in: outcome)) },
                    stored: { fresh = $0 })
                reporter.committed()
                let replaced = Set(outcome.replaced.map(\.row))
                // Which rows of a full inbox were dropped is not known: those of its app are read.
                fresh.removeAll { replaced.contains($0.row) || outcome.dropped[$0.app] != nil }
                told(outcome)
            }
            handled.removeAll(keepingCapacity: true)
            unsettled.removeAll(keepingCapacity: true)
            failures.removeAll(keepingCapacity: true)
            if !acknowledgements.isEmpty { link?.send(.acknowledge(acknowledgements)) }
        } catch {
            trouble.note(error)
            retry.arm(afterMilliseconds: Self.retryMilliseconds)
            if !arrivals.isEmpty || !acknowledgements.isEmpty { link?.startAnew() }
        }
        return fresh
    }

    /// Sends a topic's newest stream as much as it has room for, in order. A stream that has been given all that was
    /// stored before this turn gets what the turn has stored as it is; for any other the inbox is read.
    private func handOver(_ topic: String, _ fresh: [Inbox.Stored]) {
        guard let record = state.apps[topic], var present = attachments[topic],
            let stream = present.streams.last, stream.hasRoom
        else { return }
        let fresh = fresh.filter { $0.app == record.number }
        let count = state.inbox.storedCount(of: record.number)
        let isAtEnd = !fresh.isEmpty && present.storedCount == count - fresh.count
        var isAll = true
        let send = { (row: Int64, parcel: Parcel) in
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
        attachments[topic] = present
        handlers.watch(stream)
    }
}

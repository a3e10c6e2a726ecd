import PostriderCourier
import PostriderNotifications
import PostriderStorage
import PostriderTransport

// Failed deliveries, and apps that do not run.
extension AppRouter {
    /// An app says whether it decides how the alerts of a topic are presented.
    func wish(_ wish: PresentationWish, from stream: AppStream) {
        guard let record = state.apps[wish.topic], owner(of: record) == stream.user else { return }
        if wish.decides { stream.decisions.insert(wish.topic) } else { stream.decisions.remove(wish.topic) }
    }

    /// Every topic may have something to be handed over.
    func markAllDue() {
        for topic in state.apps.records.keys { markDue(topic) }
    }

    /// Hands a dead letter over again. Returns false if there is none in this row.
    func retryDeadLetter(_ row: Int64) throws(StoreError) -> Bool {
        guard let app = try state.deadLetters.retry(row) else { return false }
        if let record = state.apps.record(numbered: app) { retry([record.topic.text]) }
        return true
    }

    /// What waits first for an app: the reason for which it is started.
    func firstParcel(of topic: String) -> LaunchReason {
        guard let record = state.apps[topic] else { return .itself }
        var reason = LaunchReason.itself
        do throws(StoreError) {
            try state.inbox.forEachPending(of: record.number, after: 0) { row, parcel in
                guard !redelivery.holds(row) else { return true }
                reason = parcel.launch
                return false
            }
        } catch {
            trouble.note(error)
        }
        return reason
    }

    /// Has a declared app started, because something waits for it.
    func callApp(_ topic: String) {
        guard let lifecycle, lifecycle.heedsNeed(topic), firstParcel(of: topic) != .itself else { return }
        lifecycle.handle(.needed, topic)
    }

    func makeHandlerWatch(_ scheduler: any Scheduler) -> HandlerWatch {
        let watch = HandlerWatch(scheduler, log: log)
        watch.boundMilliseconds = { [unowned self] topic in
            // Each run of a handler has its own time limit.
            guard programs?.manifest(of: topic) == nil else { return nil }
            guard let manifest = lifecycle?.status(of: topic)?.supervisor.manifest else {
                return Limits.handlerSeconds.usual * 1000
            }
            return manifest.handlerSeconds.map { $0 * 1000 }
        }
        watch.stuck = { [unowned self] in stuck($0, $1) }
        return watch
    }

    /// An app has not settled its deliveries in time: they have failed, as if the app had crashed. A process that the
    /// agent has started is ended. Any other loses its stream, so that it, or another process of the app, can attach
    /// again.
    private func stuck(_ stream: AppStream, _ business: AppStream.Business) {
        let topic = business.topic
        // A stream that is not the newest of any topic delays nothing. A single handler delays all topics of its
        // stream.
        guard attachments.values.contains(where: { $0.streams.last === stream }),
            let oldest = stream.oldestUnderWay
        else { return }
        stream.isStuck = true
        let reason = "The app had not handled it after \(business.milliseconds / 1000) s."
        failures.append(
            Inbox.Failure(row: oldest.row, topic: topic, reason: reason, reported: oldest.reported))
        if lifecycle?.isProcess(stream.process, of: topic) == true {
            lifecycle?.handle(.stuck("\(business), and is ended"), topic)
        } else {
            log.warning("\(topic) \(business), and is disconnected", fields: .init(topic: topic))
            stream.end(
                .deadlineExceeded,
                "The app \(business): it is disconnected, and its deliveries are handed over again.")
        }
    }

    private func isUnderWay(_ row: Int64) -> Bool {
        attachments.values.contains { $0.streams.contains { $0.isUnderWay(row) } }
    }

    /// Reads the rows of these topics again, from the first one on.
    func retry(_ topics: Set<String>) {
        for topic in topics {
            attachments[topic]?.rewind()
            markDue(topic)
        }
    }

    /// Failures are committed: schedules their next attempts, or reports that there is none.
    func told(_ outcome: Inbox.Outcome) {
        for failure in outcome.again where redelivery.holds(failure.row) {
            if let push = failure.reported, failure.attempts <= Limits.reportedAttempts {
                reporter.note(.failed, of: push, text: failure.reason)
            }
            let reason = DesktopNotification.line(failure.reason)
            log.info(
                "\(failure.topic) has failed (attempt \(failure.attempts)): \(reason)",
                kind: "failed: \(failure.topic)", fields: failure.fields)
            redelivery.pause(failure.row, of: failure.topic, attempts: failure.attempts)
        }
        for row in outcome.gone { redelivery.forget(row) }
        for (app, count) in outcome.dropped { noteDrop(count, of: app) }
        for replaced in outcome.replaced { redelivery.forget(replaced.row) }
        for failure in outcome.dead {
            redelivery.forget(failure.row)
            log.warning(
                "\(failure.topic): a notification was given up after \(failure.attempts) attempts; see "
                    + "'postrider agent dead-letters'", kind: "dead letter: \(failure.topic)",
                fields: failure.fields)
        }
    }

    /// The reports of the pushes that an outcome ends.
    func ends(in outcome: Inbox.Outcome) -> [Report.Event] {
        var events = outcome.merged.map { Report.Event(.merged, of: $0.push, other: $0.other, at: now) }
        for replaced in outcome.replaced {
            // What became of a push that is under way is reported once the app has handled it.
            guard let push = replaced.reported, !isUnderWay(replaced.row) else { continue }
            events.append(Report.Event(.replaced, of: push, at: now))
        }
        for failure in outcome.dead {
            guard let push = failure.reported else { continue }
            events.append(Report.Event(.gaveUp, of: push, at: now, text: failure.reason))
        }
        return events
    }

    private func noteDrop(_ count: Int, of app: Int64) {
        let topic = state.apps.record(numbered: app)?.topic.text ?? "an app"
        let number = count == 1 ? "1 notification" : "\(count) notifications"
        log.write(
            .warning, "\(number) of \(topic) dropped: its inbox is full (\(Limits.inboxPerTopic))",
            kind: "inbox full", from: topic, count: count, fields: .init(topic: topic))
    }
}

/// The rows of the inbox at which an app has failed, until their next attempt. The pauses grow.
final class RedeliveryQueue {
    private let scheduler: any Scheduler
    private let release: (Set<String>) -> Void
    /// For each row, its topic and the nanosecond at which it is tried again; nil while the failure is not committed.
    private var rows: [Int64: (topic: String, until: UInt64?)] = [:]
    private lazy var timer = scheduler.makeTimer { [unowned self] in releaseDue() }

    /// - Parameter release: gets the topics of rows that may be tried again.
    init(_ scheduler: any Scheduler, release: @escaping (Set<String>) -> Void) {
        self.scheduler = scheduler
        self.release = release
    }

    /// Whether no row waits.
    var isEmpty: Bool { rows.isEmpty }

    /// Whether a row waits for its next attempt.
    func holds(_ row: Int64) -> Bool { rows[row] != nil }

    /// Holds a row until `pause` sets its pause.
    func hold(_ row: Int64, of topic: String) { rows[row] = (topic, nil) }

    /// Sets the pause of a row, which depends on the number of attempts.
    func pause(_ row: Int64, of topic: String, attempts: Int) {
        let milliseconds = Limits.redeliveryMilliseconds << min(max(attempts - 1, 0), 9)
        rows[row] = (topic, scheduler.now + UInt64(milliseconds) * 1_000_000)
        arm()
    }

    /// Forgets a row.
    func forget(_ row: Int64) { rows[row] = nil }

    /// Releases the rows whose pause is over.
    func releaseDue() {
        let due = rows.filter { $0.value.until.map { $0 <= scheduler.now } ?? false }
        for row in due.keys { rows[row] = nil }
        if !due.isEmpty { release(Set(due.values.map(\.topic))) }
        arm()
    }

    private func arm() {
        guard let next = rows.values.compactMap(\.until).min() else { return timer.disarm() }
        let wait = next > scheduler.now ? next - scheduler.now : 0
        timer.arm(afterMilliseconds: Int(wait / 1_000_000) + 1)
    }
}

extension Inbox.Failure {
    /// What the log says about it, for programs.
    fileprivate var fields: Log.Fields {
        Log.Fields(
            topic: topic, apnsID: reported.map { "\($0.identity)" },
            reason: DesktopNotification.line(reason))
    }
}

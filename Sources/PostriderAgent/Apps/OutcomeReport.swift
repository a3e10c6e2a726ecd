import PostriderCourier
import PostriderNotifications

/// Says what became of a turn's changes: to the relay, and once they are committed to the log. Failures get their next
/// attempt.
struct OutcomeReport {
    private let outcome: Inbox.Outcome
    private let state: AgentState
    private let streams: AttachedStreams
    private let redelivery: RedeliveryQueue
    private let reporter: Reporter
    private let log: Log

    init(
        _ outcome: Inbox.Outcome, state: AgentState, streams: AttachedStreams, redelivery: RedeliveryQueue,
        reporter: Reporter, log: Log
    ) {
        self.outcome = outcome
        self.state = state
        self.streams = streams
        self.redelivery = redelivery
        self.reporter = reporter
        self.log = log
    }

    /// The reports of the pushes that the outcome ends.
    func ends(at now: Moment) -> [Report.Event] {
        var events = outcome.merged.map { Report.Event(.merged, of: $0.push, other: $0.other, at: now) }
        for replaced in outcome.replaced {
            // What became of a push that is under way is reported once the app has handled it.
            guard let push = replaced.reported, !streams.isUnderWay(replaced.row) else { continue }
            events.append(Report.Event(.replaced, of: push, at: now))
        }
        for failure in outcome.dead {
            guard let push = failure.reported else { continue }
            events.append(
                Report.Event(
                    .gaveUp, of: push, at: now, tookMilliseconds: failure.tookMilliseconds,
                    text: failure.reason))
        }
        return events
    }

    /// Schedules the next attempts of what has failed, and writes to the log.
    func tell() {
        for failure in outcome.again where redelivery.holds(failure.row) { again(failure) }
        for row in outcome.gone { redelivery.forget(row) }
        for (app, count) in outcome.dropped { noteDrop(count, of: app) }
        for replaced in outcome.replaced { redelivery.forget(replaced.row) }
        for failure in outcome.dead {
            redelivery.forget(failure.row)
            log.warning(
                "\(failure.topic): a notification was given up after \(failure.attempts) attempts; see "
                    + "'postrider-agent dead-letters'", kind: "dead letter: \(failure.topic)",
                fields: failure.fields)
        }
    }

    private func again(_ failure: Inbox.Failure) {
        if let push = failure.reported, failure.attempts <= Limits.reportedAttempts {
            reporter.note(
                .failed, of: push, tookMilliseconds: failure.tookMilliseconds, text: failure.reason)
        }
        let reason = DesktopNotification.line(failure.reason)
        log.info(
            "\(failure.topic) has failed (attempt \(failure.attempts)): \(reason)",
            kind: "failed: \(failure.topic)", fields: failure.fields)
        redelivery.pause(failure.row, of: failure.topic, attempts: failure.attempts)
    }

    private func noteDrop(_ count: Int, of app: Int64) {
        let topic = state.apps.record(numbered: app)?.topic.text ?? "an app"
        let number = count == 1 ? "1 notification" : "\(count) notifications"
        log.write(
            .warning, "\(number) of \(topic) dropped: its inbox is full (\(Limits.inboxPerTopic))",
            kind: "inbox full", from: topic, count: count, fields: .init(topic: topic))
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

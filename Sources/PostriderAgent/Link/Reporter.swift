import PostriderCourier
import PostriderNotifications
import PostriderTransport

/// Reports to the relay's trace what became of notifications: collected for a moment, and sent in one message.
///
/// The reports help whoever looks for a push, and nothing depends on them: they are not stored on the disk, and if the
/// link is down for long, the oldest are dropped.
final class Reporter {
    /// The link. The owner of both sets it.
    weak var link: (any OutboundLink)?
    /// Whether the owner of the device allows reports.
    var isOn = true

    private let scheduler: any Scheduler
    private var events: [Told] = []
    /// The reports that were sent and not confirmed: if the link is lost, so are they, perhaps.
    private var sent: [Told] = []
    /// How many of them the confirmation that is under way is about; nil if none is under way.
    private var confirming: Int?
    private lazy var timer = scheduler.makeTimer { [unowned self] in send() }

    /// A report that was sent at least once.
    private struct Told {
        let event: Report.Event
        /// When it was sent last, in nanoseconds.
        var sentAt: UInt64 = 0
        /// How often it was sent again.
        var repeats = 0
    }

    init(_ scheduler: any Scheduler) { self.scheduler = scheduler }

    /// Reports what became of a notification, if the relay asked for that.
    ///
    /// - Parameters:
    ///   - other: the relay's number of the push with which it was merged.
    ///   - text: what else there is to say about it.
    func note(_ kind: Report.Kind, of push: ReportedPush, mergedWith other: UInt64 = 0, text: String = "") {
        guard isOn else { return }
        if events.count == Limits.reportsWaiting { events.removeFirst() }
        let now = Moment(milliseconds: scheduler.wallMilliseconds)
        events.append(
            Told(
                event: Report.Event(
                    kind, of: push.identity, push: push.push, other: other, at: now, text: text)))
        if !timer.isArmed { timer.arm(afterMilliseconds: Limits.reportDelayMilliseconds) }
    }

    /// The link is up: sends the reports that wait.
    func linkIsUp() { send() }

    /// The relay has received what was sent before the confirmation was asked for.
    func confirmed() {
        sent.removeFirst(min(confirming ?? 0, sent.count))
        confirming = nil
        askForConfirmation()
    }

    private func askForConfirmation() {
        guard confirming == nil, !sent.isEmpty, link?.confirm() == true else { return }
        confirming = sent.count
    }

    /// The link has ended, perhaps together with the reports that were sent last: these are sent again. The relay's
    /// trace shows a report that arrives twice only once.
    func linkEnded() {
        let milliseconds = UInt64(Limits.reportRepeatMilliseconds)
        let doubtful = sent.compactMap { told -> Told? in
            let isRecent = scheduler.now - told.sentAt <= milliseconds * 1_000_000
            guard isRecent, told.repeats < Limits.reportRepeats else { return nil }
            return Told(event: told.event, repeats: told.repeats + 1)
        }
        events = (doubtful + events).suffix(Limits.reportsWaiting)
        sent = []
        confirming = nil
    }

    private func send() {
        timer.disarm()
        while !events.isEmpty {
            let report = Report(events.prefix(Limits.reportEvents).map(\.event))
            guard link?.send(.report(report)) == true else { return }
            let count = report.events.count
            let told = events.prefix(count).map {
                Told(event: $0.event, sentAt: scheduler.now, repeats: $0.repeats)
            }
            events.removeFirst(count)
            sent += told
            let surplus = max(0, sent.count - Limits.reportsDoubtful)
            sent.removeFirst(surplus)
            confirming = confirming.map { max(0, $0 - surplus) }
        }
        askForConfirmation()
    }
}

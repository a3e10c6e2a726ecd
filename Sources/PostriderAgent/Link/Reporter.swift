import PostriderCourier
import PostriderNotifications
import PostriderTransport

/// What the relay's trace is told of what became of notifications: collected for a moment, and sent in one message.
///
/// It is for whoever looks for a push, and nothing depends on it: nothing is kept on the disk, and where the link is
/// away for long the oldest are forgotten.
final class Reporter {
    /// What carries it; its owner, which also owns this, sets it.
    weak var line: (any RelayLine)?
    /// Whether the owner of the device lets the relay know.
    var isOn = true

    private let scheduler: any Scheduler
    private var events: [Told] = []
    /// What was sent last, which a link that is lost soon afterwards takes with it.
    private var sent: [Told] = []
    private lazy var timer = scheduler.makeTimer { [unowned self] in send() }

    /// Something that is told, and has perhaps been told before.
    private struct Told {
        let event: Report.Event
        /// When it was sent last, in nanoseconds.
        var sentAt: UInt64 = 0
        /// How often it was sent again.
        var repeats = 0
    }

    init(_ scheduler: any Scheduler) { self.scheduler = scheduler }

    /// This became of a notification of which the relay wishes to be told.
    ///
    /// - Parameters:
    ///   - other: the relay's number for the push with which it was merged.
    ///   - text: what there is to say about it.
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

    /// The link is back: what has waited for it is sent.
    func linkIsUp() { send() }

    /// The link is gone, and may have taken with it what was sent last: that waits again. The relay's trace tells what
    /// comes twice once.
    func linkEnded() {
        let milliseconds = UInt64(Limits.reportRepeatMilliseconds)
        let doubtful = sent.compactMap { told -> Told? in
            let isRecent = scheduler.now - told.sentAt <= milliseconds * 1_000_000
            guard isRecent, told.repeats < Limits.reportRepeats else { return nil }
            return Told(event: told.event, repeats: told.repeats + 1)
        }
        events = (doubtful + events).suffix(Limits.reportsWaiting)
        sent = []
    }

    private func send() {
        timer.disarm()
        while !events.isEmpty {
            let report = Report(events.prefix(Limits.reportEvents).map(\.event))
            guard line?.send(.report(report)) == true else { return }
            let count = report.events.count
            let told = events.prefix(count).map {
                Told(event: $0.event, sentAt: scheduler.now, repeats: $0.repeats)
            }
            events.removeFirst(count)
            sent = (sent + told).suffix(Limits.reportsDoubtful)
        }
    }
}

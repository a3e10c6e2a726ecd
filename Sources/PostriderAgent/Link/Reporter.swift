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
    private var events: [Report.Event] = []
    private lazy var timer = scheduler.makeTimer { [unowned self] in send() }

    init(_ scheduler: any Scheduler) { self.scheduler = scheduler }

    /// This became of a notification of which the relay wishes to be told.
    ///
    /// - Parameter other: the relay's number for the push with which it was merged.
    func note(_ kind: Report.Kind, of push: ReportedPush, mergedWith other: UInt64 = 0) {
        guard isOn else { return }
        if events.count == Limits.reportsWaiting { events.removeFirst() }
        let now = Moment(milliseconds: scheduler.wallMilliseconds)
        events.append(Report.Event(kind, of: push.identity, push: push.push, other: other, at: now))
        if !timer.isArmed { timer.arm(afterMilliseconds: Limits.reportDelayMilliseconds) }
    }

    /// The link is back: what has waited for it is sent.
    func linkIsUp() { send() }

    private func send() {
        timer.disarm()
        while !events.isEmpty {
            let report = Report(events)
            guard line?.send(.report(report)) == true else { return }
            events.removeFirst(report.events.count)
        }
    }
}

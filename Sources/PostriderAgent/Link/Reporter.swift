import PostriderCourier
import PostriderNotifications
import PostriderStorage
import PostriderTransport

/// Reports to the relay's trace what became of notifications: collected for a moment, and sent in one message.
///
/// The end of a notification, such as done or given up, is stored in the transaction that settles the notification
/// (``ReportRegister``), and sent on each link until the relay has confirmed it. A step on the way there, such as begun
/// or tried again, is only in memory: it is repeated for a while, and if the link is down for long, the oldest are
/// dropped. The end of a push makes steps unnecessary that the relay may not have.
///
///     note(end)──▶ ends ──commit──▶ register ─┐
///                                             ├─ send ──▶ PING ──▶ confirmed: the register's rows may be removed
///     note(step)─▶ steps ─────────────────────┘
final class Reporter {
    /// Whether the owner of the device allows reports.
    var isOn = true

    private let link: any OutboundLink
    private let register: ReportRegister
    private let scheduler: any Scheduler
    private let trouble: StateTrouble
    private var steps = StepReports()
    /// The ends that are not committed.
    private var ends: [Report.Event] = []
    /// The ends that the current transaction stores.
    private var committing: [Report.Event] = []
    /// The rows of the last end that was sent on this link, that was confirmed on any link, and that was removed.
    private var last: (sent: Int64, confirmed: Int64, removed: Int64) = (0, 0, 0)
    /// The row of the last end that the confirmation which is under way is about; nil if none is under way.
    private var confirming: Int64?
    /// Whether ends wait for that confirmation.
    private var hasMore = false
    private var isLinkLost = false
    private var isRemovalDue = false
    private lazy var timer = scheduler.makeTimer { [unowned self] in send() }
    private lazy var removal = scheduler.makeTimer { [unowned self] in
        isRemovalDue = last.confirmed > last.removed
    }

    init(
        over link: any OutboundLink, _ register: ReportRegister, scheduler: any Scheduler,
        trouble: StateTrouble
    ) {
        self.link = link
        self.register = register
        self.scheduler = scheduler
        self.trouble = trouble
    }

    /// Reports what became of a notification, if the relay asked for that.
    ///
    /// - Parameters:
    ///   - tookMilliseconds: for how long the app or handler had it; 0 if that is not known.
    ///   - text: what else there is to say about it.
    func note(
        _ kind: Report.Kind, of push: ReportedPush, tookMilliseconds: UInt64 = 0, text: String = ""
    ) {
        guard isOn else { return }
        let event = Report.Event(
            kind, of: push, at: Moment(milliseconds: scheduler.wallMilliseconds),
            tookMilliseconds: tookMilliseconds, text: text)
        if kind.isStep {
            steps.add(event)
        } else {
            // More wait only while the disk refuses to store them.
            if ends.count == Limits.reportsWaiting { ends.removeFirst() }
            ends.append(event)
        }
        armTimer()
    }

    private func armTimer() {
        if !timer.isArmed { timer.arm(afterMilliseconds: Limits.reportDelayMilliseconds) }
    }

    // MARK: The transaction of a turn

    /// Whether there is something to commit at the end of the turn.
    var needsCommit: Bool { !ends.isEmpty || isRemovalDue }

    /// Stores the ends that were noted and `others`, and removes what was confirmed, within a transaction of the
    /// caller. It calls ``committed()`` after it has committed.
    func commit(_ others: [Report.Event]) throws(StoreError) {
        committing = isOn ? ends + others : ends
        try register.keep(committing)
        if last.confirmed > last.removed { try register.remove(upTo: last.confirmed) }
    }

    /// The transaction was committed.
    func committed() {
        for event in committing { steps.end(event, isLinkLost: isLinkLost) }
        if !committing.isEmpty { armTimer() }
        (ends, committing) = ([], [])
        last.removed = last.confirmed
        isRemovalDue = false
        removal.disarm()
    }

    // MARK: The link

    /// The link is up: sends the reports that wait.
    func linkIsUp() {
        isLinkLost = false
        send()
    }

    /// The link has ended, perhaps together with the reports that were sent last: these are sent again. The relay's
    /// trace shows a report that arrives twice only once.
    func linkEnded() {
        isLinkLost = true
        steps.linkEnded(at: scheduler.now)
        last.sent = last.confirmed
        confirming = nil
    }

    /// The relay has received what was sent before the confirmation was asked for.
    func confirmed() {
        guard let confirming else { return }
        self.confirming = nil
        steps.confirmed()
        if confirming > last.confirmed {
            last.confirmed = confirming
            if !removal.isArmed { removal.arm(afterMilliseconds: Limits.reportRemovalMilliseconds) }
        }
        // Reports that are collected now are sent, and confirmed, later.
        if hasMore || !timer.isArmed { send() }
    }

    private func send() {
        timer.disarm()
        steps.send(over: link, at: scheduler.now)
        do throws(StoreError) { try sendEnds() } catch { trouble.note(error) }
        guard confirming == nil, steps.areDoubtful || last.sent > last.confirmed, link.confirm()
        else { return }
        steps.confirm()
        confirming = last.sent
    }

    /// Sends ends that were not sent on this link, some at a time: the relay confirms them before it gets more.
    private func sendEnds() throws(StoreError) {
        guard confirming == nil else {
            hasMore = true
            return
        }
        var entries = try register.entries(after: last.sent, atMost: Limits.reportsUnconfirmed)[...]
        hasMore = entries.count == Limits.reportsUnconfirmed
        while !entries.isEmpty {
            let some = entries.prefix(Limits.reportEvents)
            guard link.send(.report(Report(some.map(\.event)))), let end = some.last else { return }
            entries.removeFirst(some.count)
            last.sent = end.row
        }
    }
}

/// The reports of steps, which are only in memory.
private struct StepReports {
    private var waiting: [Told] = []
    /// The reports that were sent and not confirmed: if the link is lost, so are they, perhaps.
    private var sent: [Told] = []
    /// How many of them the confirmation that is under way is about.
    private var confirming = 0

    /// A report with what is known about its sending.
    private struct Told {
        let event: Report.Event
        /// When it was sent last, in nanoseconds.
        var sentAt: UInt64 = 0
        /// How often it was sent again.
        var repeats = 0
        /// Whether the end of the same push is stored.
        var isEnded = false
    }

    /// Whether some were sent and not confirmed.
    var areDoubtful: Bool { !sent.isEmpty }

    mutating func add(_ event: Report.Event) {
        if waiting.count == Limits.reportsWaiting { waiting.removeFirst() }
        waiting.append(Told(event: event))
    }

    /// The end of a push is stored. Its steps are not sent later than they already have to be.
    mutating func end(_ end: Report.Event, isLinkLost: Bool) {
        func isStep(_ told: Told) -> Bool {
            told.event.push == end.push && told.event.identity == end.identity
        }
        for index in sent.indices where isStep(sent[index]) { sent[index].isEnded = true }
        if isLinkLost { waiting.removeAll(where: isStep) }
    }

    mutating func linkEnded(at now: UInt64) {
        let nanoseconds = UInt64(Limits.reportRepeatMilliseconds) * 1_000_000
        let doubtful = sent.compactMap { told -> Told? in
            guard !told.isEnded, now - told.sentAt <= nanoseconds, told.repeats < Limits.reportRepeats else {
                return nil
            }
            return Told(event: told.event, repeats: told.repeats + 1)
        }
        waiting = (doubtful + waiting).suffix(Limits.reportsWaiting)
        (sent, confirming) = ([], 0)
    }

    /// The relay is asked whether it has received what was sent so far.
    mutating func confirm() { confirming = sent.count }

    /// The relay has received what was sent when it was asked.
    mutating func confirmed() {
        sent.removeFirst(confirming)
        confirming = 0
    }

    mutating func send(over link: any OutboundLink, at now: UInt64) {
        while !waiting.isEmpty {
            let report = Report(waiting.prefix(Limits.reportEvents).map(\.event))
            guard link.send(.report(report)) else { return }
            let count = report.events.count
            sent += waiting.prefix(count).map { Told(event: $0.event, sentAt: now, repeats: $0.repeats) }
            waiting.removeFirst(count)
        }
        let surplus = max(0, sent.count - Limits.reportsDoubtful)
        sent.removeFirst(surplus)
        confirming = max(0, confirming - surplus)
    }
}

extension Report.Kind {
    /// Whether more follows about the same push.
    fileprivate var isStep: Bool {
        switch self {
        case .begun, .failed, .postponed: true
        case .handedOver, .shown, .actedOn, .replaced, .merged, .done, .gaveUp: false
        }
    }
}

extension Report.Event {
    /// An event of a push.
    init(
        _ kind: Report.Kind, of push: ReportedPush, other: UInt64 = 0, at moment: Moment,
        tookMilliseconds: UInt64 = 0, text: String = ""
    ) {
        self.init(
            kind, of: push.identity, push: push.push, other: other, at: moment,
            tookMilliseconds: tookMilliseconds, text: text)
    }
}

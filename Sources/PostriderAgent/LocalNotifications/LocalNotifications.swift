import PostriderCourier
import PostriderNotifications
import PostriderSchedules
import PostriderStorage
import PostriderTransport

/// The agent's side of `UserNotificationCenter`: apps schedule local notifications here, and here they become due.
///
///     app ──call──▶ schedule ──moment comes──▶ settle: one transaction ─▶ inbox ─▶ hand-over, as all else
///
/// An app is answered once its change is stored. A notification that is due moves from the schedule to the inbox in one
/// transaction, so that a kill at any step neither loses nor doubles it.
final class LocalNotifications {
    let state: AgentState
    let authorizations: Authorizations
    let streams: AttachedStreams
    private let trouble: StateTrouble
    private let scheduler: any Scheduler
    private let log: Log
    /// For how many milliseconds after its moment a notification is still delivered.
    private let latenessMilliseconds: Int64
    /// The time zone of the device.
    let zone: () -> ZoneRules
    /// The moment of the next notification, if the alarm has not been set to it yet.
    private var alarm: AlarmSetting?
    /// Armed while the disk refuses a commit.
    private lazy var retry = scheduler.makeTimer { [unowned self] in settle() }
    private let readClock: () -> ClockReading?
    private var judge: ClockJudge?
    /// By how much the clock was set, if the schedule has not been adjusted yet; nil if it has.
    private var shift: Int64? = 0

    /// A day.
    static let usualLatenessMilliseconds: Int64 = 86_400_000
    private static let retryMilliseconds = 1000

    /// - Parameters:
    ///   - readClock: reads the device's clocks; nil if nobody can tell what happened to them while no agent ran.
    ///   - latenessMilliseconds: for how long after its moment a notification is still delivered.
    ///   - zone: the time zone of the device.
    init(
        _ state: AgentState, authorizations: Authorizations, streams: AttachedStreams, trouble: StateTrouble,
        readClock: @escaping () -> ClockReading?, latenessMilliseconds: Int64,
        zone: @escaping () -> ZoneRules, scheduler: any Scheduler, log: Log
    ) {
        self.state = state
        self.authorizations = authorizations
        self.streams = streams
        self.trouble = trouble
        self.readClock = readClock
        self.latenessMilliseconds = latenessMilliseconds
        self.zone = zone
        self.scheduler = scheduler
        self.log = log
    }

    var now: Moment { Moment(milliseconds: scheduler.wallMilliseconds) }

    // MARK: Time

    /// Settles what became due while no agent ran, and sets the alarm.
    func start() {
        do throws(StoreError) { try judgeClock() } catch { log.error("\(error)") }
        settle()
    }

    /// Finds out by how much the clock was set while no agent ran.
    private func judgeClock() throws(StoreError) {
        guard let reading = readClock() else { return }
        let (judge, step) = ClockJudge.start(after: try state.clock.record(), reading: reading)
        self.judge = judge
        shift = (shift ?? 0) + step
        tellStep(step)
    }

    /// The relay has welcomed the device, and told what its clock shows.
    func relayShows(_ moment: Moment) {
        guard let reading = readClock(), moment.milliseconds > 0 else { return }
        let ahead = moment.milliseconds - now.milliseconds
        guard let step = judge?.relayIsAhead(byMilliseconds: ahead, reading: reading) else { return }
        // Most welcomes confirm what is stored already. They cost no write, which a full disk might refuse.
        let isKnown = judge?.record.isClose(to: state.clock.kept) ?? true
        guard step != 0 || shift != nil || !isKnown else { return }
        tellStep(step)
        shift = (shift ?? 0) + step
        settle()
    }

    private func tellStep(_ step: Int64) {
        guard abs(step) >= 60_000 else { return }
        log.notice(
            "the clock was set by \(step / 1000) s while no agent ran: intervals count the time that went by")
    }

    /// The alarm has gone off.
    func alarmRang() { settle() }

    /// The clock was set by this much, or the device has slept, or its time zone may have changed.
    func clockChanged(byMilliseconds shift: Int64) {
        self.shift = (self.shift ?? 0) + shift
        if let reading = readClock() { judge?.clockChanged(byMilliseconds: shift, reading: reading) }
        settle()
    }

    /// Computes the moments anew after the clock was set, or may have been. Until that is stored, no moment counts.
    ///
    /// The end of an interval moves along with the clock, even if that was set while no agent ran, as far as
    /// ``ClockJudge`` can tell; an interval never becomes longer than it was asked for. Calendar triggers may fall on
    /// another date or in another zone now. Notifications that count as missed because the clock ran ahead wait again.
    func lookAgain() throws(StoreError) {
        guard let shift else { return }
        let (now, zone) = (now, zone())
        try state.transaction { () throws(StoreError) in
            if shift != 0 { try state.schedule.shiftIntervals(byMilliseconds: shift) }
            if let judge { try state.clock.put(judge.record) }
            try state.schedule.recallMissed(after: now)
            for entry in try state.schedule.pending(after: now) {
                guard let trigger = entry.notice.request.trigger,
                    let moment = trigger.firstMoment(scheduledAt: now, onDeviceIn: zone)
                else { continue }
                switch trigger {
                case .calendar where moment != entry.notice.at, .interval where moment < entry.notice.at:
                    try state.schedule.move(entry, to: moment)
                case .calendar, .interval, .at: break
                }
            }
        }
        self.shift = nil
    }

    /// Moves due notifications to the inbox, for apps that may alert, and sets the alarm for the next moment.
    private func settle() {
        do throws(StoreError) {
            try lookAgain()
            let now = now
            while true {
                let entries = try state.schedule.due(at: now, limit: Limits.settledAtOnce)
                guard !entries.isEmpty else { break }
                var topics: Set<String> = []
                try state.transaction { () throws(StoreError) in
                    let zone = zone()
                    for entry in entries { topics.formUnion(try settle(entry, now, zone)) }
                }
                for topic in topics { streams.markDue(topic) }
            }
            try setAlarm()
        } catch {
            trouble.note(error)
            retry.arm(afterMilliseconds: Self.retryMilliseconds)
        }
    }

    /// Has the alarm set for the next moment.
    func setAlarm() throws(StoreError) { alarm = AlarmSetting(moment: try state.schedule.firstMoment()) }

    /// What the alarm is to be set to; nil if it stays as it is. ``alarmRang()`` is called when it goes off.
    func takeAlarm() -> AlarmSetting? {
        defer { alarm = nil }
        return alarm
    }

    /// The topic for which there is a parcel now, if there is one.
    private func settle(_ entry: NotificationSchedule.Entry, _ now: Moment, _ zone: ZoneRules)
        throws(StoreError)
        -> [String]
    {
        let request = entry.notice.request
        guard let trigger = request.trigger, let record = state.apps.record(numbered: entry.app) else {
            try state.schedule.move(entry, to: nil)
            return []
        }
        let settlement = Settlement(
            of: trigger, due: entry.notice.at, now: now, lateness: latenessMilliseconds, onDeviceIn: zone)
        try state.schedule.move(entry, to: settlement.next)
        guard state.centers[entry.app]?.status.allowsNotifications == true else { return [] }
        if let moment = settlement.missed {
            try state.schedule.put(LocalNotice(request: request, at: moment), of: entry.app, as: .missed)
        }
        guard let moment = settlement.delivered else { return [] }
        try deliver(LocalNotice(request: request, at: moment), to: record, now)
        return [record.topic.text]
    }

    /// Puts a notification into the inbox, within a transaction.
    func deliver(_ notice: LocalNotice, to record: AppRecord, _ now: Moment) throws(StoreError) {
        if state.centers[record.number]?.isKeptFromAlerting != true {
            try state.schedule.put(notice, of: record.number, as: .delivered)
        }
        let fired = Fired(
            delivery: 0, identity: .drawn(), topic: record.topic.text, notice: notice, firedAt: now)
        _ = try state.inbox.store([Inbox.Arrival(app: record.number, parcel: .fired(fired))], at: now)
    }

    // MARK: Responses

    /// The user has responded to a notification that was shown. The response is in the inbox when this returns.
    func respond(
        to subject: Responded.Subject, of topic: String, action: String, text: String?,
        identifier: String = "", at: Moment? = nil
    ) throws(StoreError) {
        guard let record = state.apps[topic] else { return }
        let text = text.map { String(decoding: $0.utf8.prefix(Limits.responseTextBytes), as: UTF8.self) }
        let responded = Responded(
            delivery: 0, identity: .drawn(), topic: topic, subject: subject, action: action, text: text,
            identifier: identifier, at: at)
        let arrival = Inbox.Arrival(app: record.number, parcel: .responded(responded))
        try state.transaction { () throws(StoreError) in
            if case .local(let notice) = subject {
                let identifiers = CenterOrder.Identifiers.some([notice.request.identifier])
                try state.schedule.remove(identifiers, of: record.number, .delivered)
            }
            _ = try state.inbox.store([arrival], at: now)
        }
        streams.markDue(topic)
    }
}

/// What the alarm clock of an agent is set to.
struct AlarmSetting: Equatable {
    /// When it goes off; nil for never.
    let moment: Moment?
}

extension NotificationIdentity {
    /// A new random identity.
    fileprivate static func drawn() -> NotificationIdentity {
        NotificationIdentity(random: .random(in: .min ... .max), .random(in: .min ... .max))
    }
}

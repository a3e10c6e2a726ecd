import Foundation
import PostriderCourier
import PostriderNotifications
import PostriderSchedules
import PostriderStorage
import PostriderTransport

/// Where apps ask for local notifications, and where their moments come: the agent's side of `UserNotificationCenter`.
///
///     app ──call──▶ timetable ──moment comes──▶ settle: one transaction ─▶ inbox ─▶ hand-over, as all else
///
/// What an app is answered is safe. What is due becomes a parcel in the inbox in the same transaction in which the
/// timetable moves on, so a kill at any step neither loses nor doubles it.
final class LocalNotifications {
    let state: AgentState
    unowned let desk: AppRouter
    private let scheduler: any Scheduler
    let log: Log
    /// What calls ``alarmRang()`` at the moment that it is set to.
    weak var alarm: (any AlarmClock)?
    /// Milliseconds after its moment during which a notification is still delivered.
    var latenessMilliseconds = LocalNotifications.usualLatenessMilliseconds
    /// What an app that asks is answered for the owner of the device; `notDetermined`: the owner is waited for.
    var answerToAll = AuthorizationStatus.notDetermined
    /// The zone that the device is in.
    var zone: () -> TimeZone = {
        NSTimeZone.resetSystemTimeZone()
        return TimeZone.current
    }

    /// What the zone is called.
    var zoneName: String { zone().identifier }

    /// Calls that wait for the owner's word, by topic.
    var waiting: [String: [(call: UInt64, stream: AppStream)]] = [:]
    /// Armed while the disk refuses what has to be written.
    private lazy var retry = scheduler.makeTimer { [unowned self] in settle() }
    /// Reads the clocks of the device; nil: nobody knows what happened to them while no agent ran.
    var readClock: (() -> ClockReading)?
    private var judge: ClockJudge?
    /// How far the clock was set, where the timetable has yet to be told; nil: it knows.
    private var shift: Int64? = 0

    /// A day.
    static let usualLatenessMilliseconds: Int64 = 86_400_000
    private static let retryMilliseconds = 1000

    init(_ state: AgentState, desk: AppRouter, scheduler: any Scheduler, log: Log) {
        self.state = state
        self.desk = desk
        self.scheduler = scheduler
        self.log = log
    }

    var now: Moment { Moment(milliseconds: scheduler.wallMilliseconds) }

    // MARK: Time

    /// Settles what came due while the agent was away, and sets the alarm.
    func start() {
        do throws(StoreError) { try judgeClock() } catch { log.error("\(error)") }
        settle()
    }

    /// How far was the clock set while no agent ran?
    private func judgeClock() throws(StoreError) {
        guard let reading = readClock?() else { return }
        let (judge, step) = ClockJudge.start(after: try state.clock.record(), reading: reading)
        self.judge = judge
        shift = (shift ?? 0) + step
        tellStep(step)
    }

    /// The relay has welcomed the device, and says what its clock shows.
    func relayShows(_ moment: Moment) {
        guard let reading = readClock?(), moment.milliseconds > 0 else { return }
        let ahead = moment.milliseconds - now.milliseconds
        guard let step = judge?.relayIsAhead(byMilliseconds: ahead, reading: reading) else { return }
        // Most welcomes show what is kept already: they cost no write, which a full disk might refuse.
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

    /// The moment that the alarm was set to has come.
    func alarmRang() { settle() }

    /// The clock was set by so much, or the device has slept, or may be in another zone.
    func clockChanged(byMilliseconds shift: Int64) {
        self.shift = (self.shift ?? 0) + shift
        if let reading = readClock?() { judge?.clockChanged(byMilliseconds: shift, reading: reading) }
        settle()
    }

    /// Finds the moments anew where the clock was set, or may have been. Until that is safe none of them counts.
    ///
    /// An interval moves along with the clock, also where that was set while no agent ran, as far as ``ClockJudge``
    /// finds out; and it is no longer than it is. What clock and calendar decide may have another zone or another date
    /// by now. What a clock that ran ahead has made missed waits again.
    func lookAgain() throws(StoreError) {
        guard let shift else { return }
        let (now, zone) = (now, zone())
        try state.transaction { () throws(StoreError) in
            if shift != 0 { try state.timetable.shiftIntervals(byMilliseconds: shift) }
            if let judge { try state.clock.put(judge.record) }
            try state.timetable.recallMissed(after: now)
            for entry in try state.timetable.pending(after: now) {
                guard let trigger = entry.notice.request.trigger,
                    let moment = trigger.firstMoment(scheduledAt: now, onDeviceIn: zone)
                else { continue }
                switch trigger {
                case .calendar where moment != entry.notice.at, .interval where moment < entry.notice.at:
                    try state.timetable.move(entry, to: moment)
                case .calendar, .interval, .at: break
                }
            }
        }
        self.shift = nil
    }

    /// Makes parcels of what is due, as far as their apps may alert, and sets the alarm for what is due next.
    private func settle() {
        do throws(StoreError) {
            try lookAgain()
            let now = now
            while true {
                let entries = try state.timetable.due(at: now, limit: Limits.settledAtOnce)
                guard !entries.isEmpty else { break }
                var topics: Set<String> = []
                try state.transaction { () throws(StoreError) in
                    let zone = zone()
                    for entry in entries { topics.formUnion(try settle(entry, now, zone)) }
                }
                for topic in topics { desk.stir(topic) }
            }
            try setAlarm()
        } catch {
            desk.trouble.note(error)
            retry.arm(afterMilliseconds: Self.retryMilliseconds)
        }
    }

    /// Sets the alarm for what is due next.
    func setAlarm() throws(StoreError) { alarm?.set(try state.timetable.firstMoment()) }

    /// The topic for which there is a parcel now, if there is one.
    private func settle(_ entry: NotificationSchedule.Entry, _ now: Moment, _ zone: TimeZone)
        throws(StoreError)
        -> [String]
    {
        let request = entry.notice.request
        guard let trigger = request.trigger, let record = state.apps.record(numbered: entry.app) else {
            try state.timetable.move(entry, to: nil)
            return []
        }
        let settlement = Settlement(
            of: trigger, due: entry.notice.at, now: now, lateness: latenessMilliseconds, onDeviceIn: zone)
        try state.timetable.move(entry, to: settlement.next)
        guard state.centers[entry.app]?.status.allowsNotifications == true else { return [] }
        if let moment = settlement.missed {
            try state.timetable.put(LocalNotice(request: request, at: moment), of: entry.app, as: .missed)
        }
        guard let moment = settlement.delivered else { return [] }
        try deliver(LocalNotice(request: request, at: moment), to: record, now)
        return [record.topic.text]
    }

    /// Makes a parcel of a notification, within a transaction.
    func deliver(_ notice: LocalNotice, to record: AppRecord, _ now: Moment) throws(StoreError) {
        if state.centers[record.number]?.isKeptFromAlerting != true {
            try state.timetable.put(notice, of: record.number, as: .delivered)
        }
        let fired = Fired(
            delivery: 0, identity: .drawn(), topic: record.topic.text, notice: notice, firedAt: now)
        _ = try state.inbox.store([Inbox.Arrival(app: record.number, parcel: .fired(fired))])
    }

    // MARK: The owner of the device

    /// The owner of the device lets an app alert, or does not. What is said of an app that has not come yet is kept for
    /// it; false: there is no room for that.
    ///
    /// - Parameter granted: what the owner grants of what the app asks for; nil: all of it.
    func decide(
        _ status: AuthorizationStatus, about topic: String, granting granted: NotificationOptions? = nil
    ) throws(StoreError) -> Bool {
        guard let record = state.apps[topic] else {
            return try decideInAdvance(status, about: topic, granting: granted)
        }
        var center = state.centers[record.number] ?? CenterRecord()
        // Whoever asks to disturb waits for the owner still, and so does the question.
        let isAnswer = status != .provisional
        defer { if isAnswer { desk.presenter?.consent.withdraw(topic) } }
        guard center.status != status || center.granted != granted?.rawValue else { return true }
        center.status = status
        center.granted = granted?.rawValue
        let losesBadge = center.badge > 0 && !center.options.contains(.badge)
        if losesBadge { center.badge = 0 }
        try state.centers.put(center, of: record.number)
        if isAnswer { try state.consents.put(ConsentRegister.Record(), of: topic) }
        if losesBadge { desk.presenter?.showBadge(of: topic) }
        desk.isReceptionStale = true
        desk.tell(topic, .authorization(Authorization(topic: topic, status: status)))
        if !center.options.contains(.alert) { desk.presenter?.revoke(nil, of: topic) }
        guard status != .notDetermined, isAnswer else { return true }
        for (call, stream) in waiting.removeValue(forKey: topic) ?? [] {
            stream.tell(.answer(CenterAnswer(call: call, content: .authorization(status))))
        }
        return true
    }

    /// The user has done something with a notification of an app that was shown. It is in the inbox when this returns.
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
                try state.timetable.remove(identifiers, of: record.number, .delivered)
            }
            _ = try state.inbox.store([arrival])
        }
        desk.stir(topic)
    }
}

/// What rings when the first of all moments has come.
protocol AlarmClock: AnyObject {
    /// Rings once, at this moment; nil: never.
    func set(_ moment: Moment?)
}

extension NotificationIdentity {
    /// An identity that nobody has had before.
    fileprivate static func drawn() -> NotificationIdentity {
        NotificationIdentity(random: .random(in: .min ... .max), .random(in: .min ... .max))
    }
}

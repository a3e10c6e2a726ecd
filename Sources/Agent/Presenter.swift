import Courier
import DBus
import Notifications
import Storage
import Transport

/// Shows what apps have for their users where there is somewhere to show it, and brings back what the users do with it.
///
///     inbox ─stored─▶ PresentationDesk ─▶ DesktopScreen ═ bus ═ server of notifications
///     app ◀─respond── CenterDesk ◀───────────┘
final class Presenter {
    private let state: AgentState
    private unowned let desk: AppDesk
    private let scheduler: any Scheduler
    private let log: Log
    private var manifests: [String: AppManifest] = [:]
    private var machine: PresentationDesk
    private var screen: DesktopScreen?
    /// What asks users whether apps may notify.
    private(set) lazy var consent = ConsentDesk(
        state.consents, center: desk.center, screen: screen, log: log,
        name: { [unowned self] topic in
            manifests[topic]?.name ?? topic
        })
    /// What is being stored, in this transaction.
    private var storing: [Alert] = []
    /// What has been stored since the last turn's end.
    private var fresh: [Alert] = []
    /// What apps are asked: by which stream it is answered, and until when.
    private var questions: [UInt64: (stream: ObjectIdentifier, timer: any LoopTimer)] = [:]
    private var badges: [String: UInt32] = [:]
    /// What has happened while something else was being worked off.
    private var events: [PresentationDesk.Event] = []
    private var isBusy = false
    /// Responses, and alerts that are over, while the disk refuses them.
    private var unstored: [PresentationDesk.Action] = []
    private lazy var retry = scheduler.makeTimer { [unowned self] in storeAgain() }

    private static let retryMilliseconds = 1000

    /// - Parameter line: the way to a desktop; nil: there is none, ever.
    init(
        _ state: AgentState, desk: AppDesk, manifests: [AppManifest], line: BusLine?,
        scheduler: any Scheduler, log: Log
    ) {
        self.state = state
        self.desk = desk
        self.scheduler = scheduler
        self.log = log
        machine = PresentationDesk(isHeadless: line == nil)
        screen = line.map { line in DesktopScreen(on: line, log: log) { [unowned self] in heard($0) } }
        declare(manifests)
        state.inbox.whenStored = { [weak self] arrival throws(StoreError) in try self?.store(arrival) }
        state.whenTransactionEnds = { [weak self] isCommitted in self?.ended(isCommitted) }
    }

    /// How apps are declared from now on.
    func declare(_ manifests: [AppManifest]) {
        self.manifests = Dictionary(manifests.map { ($0.topic, $0) }) { first, _ in first }
    }

    /// Goes on with what an earlier agent has left, and for the desktop.
    func start() {
        do throws(StoreError) {
            for record in try state.alerts.records() { handle(.restored(record)) }
        } catch {
            desk.trouble.note(error)
        }
        screen?.start()
    }

    /// Lets go of the desktop; what it shows stays.
    func stop() { screen?.stop() }

    /// What there is for users to see, the oldest first.
    var alerts: [Alert] { machine.alerts }

    // MARK: What apps have

    /// Something is being stored for an app, in this transaction. What an app may not show is for its eyes only.
    private func store(_ arrival: Inbox.Arrival) throws(StoreError) {
        guard state.centers[arrival.app]?.status == .authorized,
            let alert = Alert(arrival.parcel, of: arrival.app)
        else { return }
        try state.alerts.put(alert)
        if case .remote = alert.subject, alert.content.isVisible {
            let request = LocalRequest(
                identifier: alert.key.identifier, content: alert.content, trigger: nil)
            let notice = LocalNotice(request: request, at: Moment(milliseconds: scheduler.wallMilliseconds))
            try state.timetable.put(notice, of: arrival.app, as: .delivered)
        }
        storing.append(alert)
    }

    /// A transaction has ended.
    private func ended(_ isCommitted: Bool) {
        if isCommitted { fresh += storing }
        storing = []
    }

    /// What was stored is safe: it may be shown.
    func present() {
        guard !fresh.isEmpty else { return }
        let alerts = fresh
        fresh = []
        for alert in alerts {
            let decider = desk.attachments[alert.key.topic]?.streams.last
            handle(.arrived(alert, appDecides: decider?.decisions.contains(alert.key.topic) ?? false))
        }
    }

    /// An app has decided. What it was not asked it does not decide.
    func take(_ presentation: Presentation, from stream: AppStream) {
        guard questions[presentation.question]?.stream == ObjectIdentifier(stream) else { return }
        questions[presentation.question] = nil
        handle(.decided(question: presentation.question, presentation.options))
    }

    /// Alerts of an app are to go; nil: all of them.
    func revoke(_ identifiers: [String]?, of topic: String) {
        // Those too that came in this turn.
        present()
        handle(.revoked(topic: topic, identifiers: identifiers))
    }

    // MARK: What users do

    /// The owner of the device responds in the user's place; false: there is no such alert.
    func respond(to identifier: String, of topic: String, action: String?, text: String?) -> Bool {
        let key = Alert.Key(topic: topic, identifier: identifier)
        guard alerts.contains(where: { $0.key == key }) else { return false }
        handle(.responded(key, action: action, text: text))
        return true
    }

    private func heard(_ event: DesktopScreen.Event) {
        if consent.heard(event) { return }
        switch event {
        case .came(let server):
            handle(.screenCame(server: server))
            for topic in badges.keys { showBadge(topic) }
        case .went: handle(.screenWent)
        case .chosen(let number, let key):
            let actions = machine.alert(numbered: number).flatMap { category(of: $0) }?.actions ?? []
            guard case .success(let action) = DesktopNotification.action(key, among: actions) else { return }
            handle(.chosen(number: number, action: action, text: nil))
        case .replied(let number, let text):
            guard let alert = machine.alert(numbered: number),
                let action = category(of: alert)?.actions.first(where: { $0.textInput != nil })
            else { return }
            handle(.chosen(number: number, action: action.identifier, text: text))
        case .closed(let number, let reason):
            handle(reason == Self.dismissed ? .dismissed(number: number) : .expired(number: number))
        }
    }

    /// The reason of a notification that the user has put away.
    private static let dismissed: UInt32 = 2

    // MARK: -

    private func handle(_ event: PresentationDesk.Event) {
        events.append(event)
        guard !isBusy else { return }
        isBusy = true
        while !events.isEmpty {
            for action in machine.handle(events.removeFirst()) { perform(action) }
        }
        isBusy = false
    }

    private func perform(_ action: PresentationDesk.Action) {
        do throws(StoreError) {
            switch action {
            case .ask(let question, let alert): ask(question, alert)
            case .show(let ticket, let alert, let options, let number):
                show(ticket, alert, options, number)
            case .close(let number): screen?.close(number)
            case .note(let alert):
                let identifier = DesktopNotification.line(alert.key.identifier)
                log.notice(
                    "\(alert.key.topic) has an alert for its user: \(identifier)",
                    kind: "alert: \(alert.key.topic)")
            case .badge(let topic, let count):
                badges[topic] = count
                showBadge(topic)
            case .respond(let alert, let action, let text): try respond(alert, action, text)
            case .keep(let alert, let place):
                try state.alerts.shown(alert, at: place)
                if let push = alert.reported, place != nil { desk.reporter.note(.shown, of: push) }
            case .forget(let alert, let isDismissed):
                try state.alerts.remove(alert)
                if isDismissed {
                    try state.timetable.remove(.some([alert.key.identifier]), of: alert.app, .delivered)
                }
            }
        } catch {
            desk.trouble.note(error)
            switch action {
            case .respond, .forget:
                unstored.append(action)
                retry.arm(afterMilliseconds: Self.retryMilliseconds)
            default: break
            }
        }
    }

    /// What the disk refuses again waits again, in order.
    private func storeAgain() {
        let actions = unstored
        unstored = []
        for action in actions {
            // Another alert may have taken the place of one that is over.
            if case .forget(let alert, _) = action, machine.alert(of: alert.key) != nil { continue }
            perform(action)
        }
    }

    private func ask(_ question: UInt64, _ alert: Alert) {
        guard let stream = desk.attachments[alert.key.topic]?.streams.last, stream.isListening,
            questions.count < Limits.openQuestions
        else { return handle(.timeIsUp(question: question)) }
        let timer = scheduler.makeTimer { [unowned self] in
            questions[question] = nil
            handle(.timeIsUp(question: question))
        }
        questions[question] = (ObjectIdentifier(stream), timer)
        timer.arm(afterMilliseconds: Limits.decisionMilliseconds)
        let message = WillPresent(question: question, topic: alert.key.topic, subject: alert.subject)
        stream.tell(.willPresent(message))
    }

    private func show(_ ticket: UInt64, _ alert: Alert, _ options: PresentationOptions, _ number: UInt32) {
        guard let screen else { return }
        let notification = DesktopNotification(
            alert, options, category: category(of: alert), manifest: manifests[alert.key.topic],
            capabilities: screen.capabilities)
        screen.show(notification, replacing: number) { [weak self] number in
            self?.handle(.sent(ticket: ticket, number: number))
        }
    }

    private func showBadge(_ topic: String) {
        guard let count = badges[topic], let file = manifests[topic]?.desktopFile else { return }
        screen?.setBadge(count, of: file)
    }

    /// The response is stored first, so that it is the reason for which the app is started; one that brings the app to
    /// the front does so then. Of a dismissal an app is told only if the alert's category asks for it.
    private func respond(_ alert: Alert, _ action: String?, _ text: String?) throws(StoreError) {
        let category = category(of: alert)
        if action == Responded.dismissAction,
            (category?.options ?? 0) & LocalCategory.customDismissAction == 0
        {
            return
        }
        try desk.center.respond(
            to: alert.subject, of: alert.key.topic, action: action ?? Responded.defaultAction, text: text)
        if let push = alert.reported { desk.reporter.note(.actedOn, of: push) }
        let chosen = category?.actions.first { $0.identifier == action }
        guard action == nil || (chosen?.options ?? 0) & Self.foreground != 0 else { return }
        desk.callApp(alert.key.topic)
        desk.keeper?.handle(.activate, alert.key.topic)
    }

    private func category(of alert: Alert) -> LocalCategory? {
        state.centers[alert.app]?.categories.first { $0.identifier == alert.content.category }
    }

    /// The option of an action that brings its app to the front.
    private static let foreground: UInt32 = 4
}

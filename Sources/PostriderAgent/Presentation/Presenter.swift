import PostriderCourier
import PostriderDBus
import PostriderNotifications
import PostriderStorage
import PostriderTransport

/// Shows the alerts of apps if there is a screen, and returns what users do with them.
///
///     inbox ─stored─▶ PresentationState ─▶ DesktopScreen ═ bus ═ server of notifications
///     app ◀─respond── LocalNotifications ◀───────────┘
final class Presenter {
    private let state: AgentState
    private let declared: DeclaredApps
    private let authorizations: Authorizations
    private let streams: AttachedStreams
    private let outcomes: AlertOutcomes
    private let trouble: StateTrouble
    private let log: Log
    private var machine: PresentationState
    private var screen: DesktopScreen?
    /// Asks users whether apps may notify.
    private lazy var consent = ConsentRequests(
        state.consents, authorizations: authorizations, screen: screen, trouble: trouble, log: log,
        name: { [declared] topic in declared[topic]?.name ?? topic })
    private lazy var questions = PresentationQuestions(scheduler) { [unowned self] in
        handle(.timeIsUp(question: $0))
    }
    private let scheduler: any Scheduler
    /// Runs the service extensions of apps; nil if none can be started.
    private let extensions: ServiceExtensions?
    /// Events that arrived while another event was being processed.
    private var events: [PresentationState.Event] = []
    private var isBusy = false

    /// - Parameters:
    ///   - bus: the connection to a desktop; nil if there will never be one.
    ///   - runner: starts the apps' service extensions; nil if alerts are shown unchanged.
    init(
        _ state: AgentState, declared: DeclaredApps, authorizations: Authorizations,
        streams: AttachedStreams, outcomes: AlertOutcomes, trouble: StateTrouble, bus: ReconnectingBus?,
        runner: (any ProgramRunner)?, scheduler: any Scheduler, log: Log
    ) {
        extensions = runner.map { ServiceExtensions($0, scheduler: scheduler, log: log) }
        self.state = state
        self.declared = declared
        self.authorizations = authorizations
        self.streams = streams
        self.outcomes = outcomes
        self.trouble = trouble
        self.scheduler = scheduler
        self.log = log
        machine = PresentationState(isHeadless: bus == nil)
        screen = bus.map { bus in DesktopScreen(on: bus, log: log) { [unowned self] in heard($0) } }
    }

    /// Continues with the alerts of an earlier agent, and connects to the desktop.
    func start() {
        do throws(StoreError) {
            for record in try state.alerts.records() { restore(record) }
        } catch {
            trouble.note(error)
        }
        screen?.start()
    }

    /// Continues with an alert of an earlier agent.
    private func restore(_ record: AlertRegister.Record) {
        guard let alert = allowed(record.alert) else { return }
        guard !record.isShown else {
            return handle(.restored(AlertRegister.Record(alert: alert, place: record.place, isShown: true)))
        }
        change(alert) { [unowned self] alert in
            handle(.restored(AlertRegister.Record(alert: alert, place: record.place, isShown: false)))
        }
    }

    /// Disconnects from the desktop; what it shows stays.
    func stop() {
        extensions?.stop()
        screen?.stop()
    }

    /// All alerts, the oldest first.
    var alerts: [Alert] { machine.alerts }

    // MARK: Alerts of apps

    /// Shows, withdraws and asks what the turn has brought. It is stored already.
    func present() {
        while let change = state.presentation.next() {
            switch change {
            case .arrived(let alert): arrived(alert)
            case .revoked(let topic, let identifiers): revoke(identifiers, of: topic)
            case .badge(let topic): showBadge(of: topic)
            case .asked(let topic, let user): consent.ask(about: topic, of: user)
            case .answered(let topic): consent.withdraw(topic)
            }
        }
    }

    private func arrived(_ alert: Alert) {
        // A newer alert with the same key replaces it.
        extensions?.cancel { $0.key == alert.key }
        outcomes.replaced(by: alert)
        change(alert) { [unowned self] alert in
            let decider = streams.newest(of: alert.key.topic)
            handle(.arrived(alert, appDecides: decider?.decisions.contains(alert.key.topic) ?? false))
        }
    }

    /// Has an alert changed by its app's service extension, if its provider asks for that and the app has one. The
    /// changed alert is stored before it is shown.
    private func change(_ alert: Alert, _ present: @escaping (Alert) -> Void) {
        guard alert.isMutable, !alert.isChanged, alert.content.isVisible, alert.permitted.contains(.banner),
            let extensions, let manifest = declared[alert.key.topic], manifest.serviceExtension != nil
        else { return present(alert) }
        extensions.change(alert, of: manifest) { [unowned self] changed in
            // A newer alert has replaced it in this turn.
            guard !state.presentation.holds(alert.key) else { return }
            guard let changed = changed.flatMap({ allowed($0) }) else { return present(alert) }
            do throws(StoreError) { try state.presentation.keep(changed) } catch { trouble.note(error) }
            present(changed)
        }
    }

    /// An alert as its app may present it now; nil if the agent has forgotten the app.
    private func allowed(_ alert: Alert) -> Alert? { state.centers[alert.app].map { alert.allowed(by: $0) } }

    /// An app has decided about an alert. The answer to a question that the app was not asked is ignored.
    func take(_ presentation: Presentation, from stream: AppStream) {
        guard questions.close(presentation.question, by: stream) else { return }
        handle(.decided(question: presentation.question, presentation.options))
    }

    /// Removes alerts of an app; nil for all of them.
    private func revoke(_ identifiers: [String]?, of topic: String) {
        let cancelled = extensions?.cancel { alert in
            alert.key.topic == topic && identifiers?.contains(alert.key.identifier) ?? true
        }
        for alert in cancelled ?? [] { perform(.forget(alert, isDismissed: false)) }
        handle(.revoked(topic: topic, identifiers: identifiers))
    }

    // MARK: Responses of users

    /// The owner of the device responds in the user's place. Returns false if there is no such alert.
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
            for (app, center) in state.centers.records where center.badge > 0 {
                if let record = state.apps.record(numbered: app) { showBadge(of: record.topic.text) }
            }
        case .went: handle(.screenWent)
        case .chosen(let number, DesktopNotification.settingsKey):
            handle(.chosen(number: number, action: Responded.settingsAction, text: nil))
        case .chosen(let number, let key):
            let actions = machine.alert(numbered: number).flatMap { category(of: $0) }?.actions ?? []
            guard case .success(let action) = DesktopNotification.action(key, among: actions) else { return }
            handle(.chosen(number: number, action: action, text: nil))
        case .replied(let number, let text):
            guard let alert = machine.alert(numbered: number),
                let action = category(of: alert)?.actions.first(where: { $0.textInput != nil })
            else { return }
            handle(.chosen(number: number, action: action.identifier, text: text))
        case .repliedUnreadably(let number):
            guard let alert = machine.alert(numbered: number) else { return }
            log.warning(
                "\(alert.key.topic): the user's reply to "
                    + "\(DesktopNotification.line(alert.key.identifier)) has a character that D-Bus "
                    + "libraries refuse, such as U+FFFF; the alert is shown again, to be answered without it",
                fields: .init(topic: alert.key.topic))
            handle(.unanswered(number: number))
        case .closed(let number, let reason):
            handle(reason == Self.dismissed ? .dismissed(number: number) : .expired(number: number))
        }
    }

    /// The reason with which the server reports that the user dismissed a notification.
    private static let dismissed: UInt32 = 2

    // MARK: -

    private func handle(_ event: PresentationState.Event) {
        events.append(event)
        guard !isBusy else { return }
        isBusy = true
        while !events.isEmpty {
            for action in machine.handle(events.removeFirst()) { perform(action) }
        }
        isBusy = false
    }

    private func perform(_ action: PresentationState.Action) {
        switch action {
        case .ask(let question, let alert):
            questions.ask(question, about: alert, on: streams.newest(of: alert.key.topic))
        case .show(let ticket, let alert, let options, let number):
            show(ticket, alert, options, number)
        case .close(let number): screen?.close(number)
        case .note(let alert):
            let identifier = DesktopNotification.line(alert.key.identifier)
            log.notice(
                "\(alert.key.topic) has an alert for its user: \(identifier)",
                kind: "alert: \(alert.key.topic)", fields: .init(topic: alert.key.topic))
        case .badge(let topic, let count): setBadge(count, of: topic)
        case .respond(let alert, let action, let text):
            outcomes.store(.response(alert, action: action, text: text))
        case .keep(let alert, let place): outcomes.store(.shown(alert, at: place))
        case .forget(let alert, let isDismissed): outcomes.store(.gone(alert, isDismissed: isDismissed))
        }
    }

    private func setBadge(_ count: UInt32, of topic: String) {
        guard let record = state.apps[topic] else { return }
        do throws(StoreError) {
            _ = try authorizations.setBadge(count, of: record)
        } catch {
            trouble.note(error)
        }
    }

    private func show(_ ticket: UInt64, _ alert: Alert, _ options: PresentationOptions, _ number: UInt32) {
        guard let screen else { return }
        let notification = DesktopNotification(
            alert, options, category: category(of: alert), manifest: declared[alert.key.topic],
            capabilities: screen.capabilities)
        screen.show(notification, replacing: number) { [weak self] number in
            self?.handle(.sent(ticket: ticket, number: number))
        }
    }

    /// Shows the stored badge of an app; 0 if there is none.
    private func showBadge(of topic: String) {
        guard let file = declared[topic]?.desktopFile else { return }
        let count = state.apps[topic].flatMap { state.centers[$0.number]?.badge } ?? 0
        screen?.setBadge(count, of: file)
    }

    private func category(of alert: Alert) -> LocalCategory? {
        state.centers[alert.app]?.category(of: alert)
    }
}

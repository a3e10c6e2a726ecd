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
    private unowned let router: AppRouter
    private let scheduler: any Scheduler
    private let log: Log
    private var manifests: [String: AppManifest] = [:]
    private var machine: PresentationState
    private var screen: DesktopScreen?
    /// Asks users whether apps may notify.
    private(set) lazy var consent = ConsentRequests(
        state.consents, center: router.center, screen: screen, log: log,
        name: { [unowned self] topic in
            manifests[topic]?.name ?? topic
        })
    private let intake: AlertIntake
    private lazy var questions = PresentationQuestions(scheduler) { [unowned self] in
        handle(.timeIsUp(question: $0))
    }
    /// Runs the service extensions of apps; nil if none can be started.
    private let extensions: ServiceExtensions?
    /// Events that arrived while another event was being processed.
    private var events: [PresentationState.Event] = []
    private var isBusy = false
    /// Responses and removals that the disk has refused.
    private var unstored: [PresentationState.Action] = []
    private lazy var retry = scheduler.makeTimer { [unowned self] in storeAgain() }

    private static let retryMilliseconds = 1000

    /// - Parameters:
    ///   - bus: the connection to a desktop; nil if there will never be one.
    ///   - runner: starts the apps' service extensions; nil if alerts are shown unchanged.
    init(
        _ state: AgentState, router: AppRouter, manifests: [AppManifest], bus: ReconnectingBus?,
        runner: (any ProgramRunner)? = nil, scheduler: any Scheduler, log: Log
    ) {
        extensions = runner.map { ServiceExtensions($0, scheduler: scheduler, log: log) }
        self.state = state
        intake = AlertIntake(state, scheduler: scheduler)
        self.router = router
        self.scheduler = scheduler
        self.log = log
        machine = PresentationState(isHeadless: bus == nil)
        screen = bus.map { bus in DesktopScreen(on: bus, log: log) { [unowned self] in heard($0) } }
        declare(manifests)
    }

    /// Takes new manifests.
    func declare(_ manifests: [AppManifest]) {
        self.manifests = Dictionary(manifests.map { ($0.topic, $0) }) { first, _ in first }
    }

    /// Continues with the alerts of an earlier agent, and connects to the desktop.
    func start() {
        do throws(StoreError) {
            for record in try state.alerts.records() { restore(record) }
        } catch {
            router.trouble.note(error)
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

    /// The stored alerts are committed: they may be shown.
    func present() {
        for alert in intake.take() {
            // A newer alert with the same key replaces it.
            extensions?.cancel { $0.key == alert.key }
            change(alert) { [unowned self] alert in
                let decider = router.attachments[alert.key.topic]?.streams.last
                handle(.arrived(alert, appDecides: decider?.decisions.contains(alert.key.topic) ?? false))
            }
        }
    }

    /// Has an alert changed by its app's service extension, if its provider asks for that and the app has one. The
    /// changed alert is stored before it is shown.
    private func change(_ alert: Alert, _ present: @escaping (Alert) -> Void) {
        guard alert.isMutable, !alert.isChanged, alert.content.isVisible, alert.permitted.contains(.banner),
            let extensions, let manifest = manifests[alert.key.topic], manifest.serviceExtension != nil
        else { return present(alert) }
        extensions.change(alert, of: manifest) { [unowned self] changed in
            // A newer alert has replaced it in this turn.
            guard !intake.holds(alert.key) else { return }
            guard let changed = changed.flatMap({ allowed($0) }) else { return present(alert) }
            do throws(StoreError) { try intake.keep(changed) } catch { router.trouble.note(error) }
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
    func revoke(_ identifiers: [String]?, of topic: String) {
        // Alerts that arrived in this turn are removed too.
        present()
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
        do throws(StoreError) {
            switch action {
            case .ask(let question, let alert):
                let stream = router.attachments[alert.key.topic]?.streams.last
                questions.ask(question, about: alert, on: stream)
            case .show(let ticket, let alert, let options, let number):
                show(ticket, alert, options, number)
            case .close(let number): screen?.close(number)
            case .note(let alert):
                let identifier = DesktopNotification.line(alert.key.identifier)
                log.notice(
                    "\(alert.key.topic) has an alert for its user: \(identifier)",
                    kind: "alert: \(alert.key.topic)", fields: .init(topic: alert.key.topic))
            case .badge(let topic, let count):
                if let record = state.apps[topic] { _ = try router.center.setBadge(count, of: record) }
            case .respond(let alert, let action, let text): try respond(alert, action, text)
            case .keep(let alert, let place):
                try state.alerts.shown(alert, at: place)
                if let push = alert.reported, place != nil { router.reporter.note(.shown, of: push) }
            case .forget(let alert, let isDismissed):
                try state.alerts.remove(alert)
                if isDismissed {
                    try state.schedule.remove(.some([alert.key.identifier]), of: alert.app, .delivered)
                }
            }
        } catch {
            router.trouble.note(error)
            switch action {
            case .respond, .forget:
                unstored.append(action)
                retry.arm(afterMilliseconds: Self.retryMilliseconds)
            default: break
            }
        }
    }

    /// Tries again to store what the disk has refused, in order.
    private func storeAgain() {
        let actions = unstored
        unstored = []
        for action in actions {
            // Another alert may have replaced one that is removed.
            if case .forget(let alert, _) = action, machine.alert(of: alert.key) != nil { continue }
            perform(action)
        }
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

    /// Shows the stored badge of an app; 0 if there is none.
    func showBadge(of topic: String) {
        guard let file = manifests[topic]?.desktopFile else { return }
        let count = state.apps[topic].flatMap { state.centers[$0.number]?.badge } ?? 0
        screen?.setBadge(count, of: file)
    }

    /// Stores the user's response, so that it becomes the launch reason of the app; an action that brings the app to
    /// the front then activates it. An app is told of a dismissal only if the alert's category asks for that.
    private func respond(_ alert: Alert, _ action: String?, _ text: String?) throws(StoreError) {
        let category = category(of: alert)
        if action == Responded.dismissAction,
            (category?.options ?? 0) & LocalCategory.customDismissAction == 0
        {
            return
        }
        try router.center.respond(
            to: alert.subject, of: alert.key.topic, action: action ?? Responded.defaultAction, text: text,
            identifier: alert.key.identifier, at: alert.at)
        if let push = alert.reported { router.reporter.note(.actedOn, of: push) }
        let chosen = category?.actions.first { $0.identifier == action }
        guard
            action == nil || action == Responded.settingsAction
                || (chosen?.options ?? 0) & Self.foreground != 0
        else { return }
        router.callApp(alert.key.topic)
        router.lifecycle?.handle(.activate, alert.key.topic)
    }

    private func category(of alert: Alert) -> LocalCategory? {
        state.centers[alert.app]?.categories.first { $0.identifier == alert.content.category }
    }

    /// The option of an action that brings its app to the front.
    private static let foreground: UInt32 = 4
}

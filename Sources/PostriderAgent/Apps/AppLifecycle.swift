import PostriderCourier
import PostriderNotifications
import PostriderStorage
import PostriderSystem
import PostriderTransport

/// Keeps the declared apps: starts them, tells them what happens to them, and ends them, as their ``AppSupervisor``
/// decides.
final class AppLifecycle {
    /// A declared app.
    private final class DeclaredApp {
        var supervisor: AppSupervisor
        var process: (any AppProcess)?
        /// The number of the last process that has ended.
        var formerProcess: Int32?
        var timer: (any LoopTimer)?
        /// Events that arrived while another event was being processed.
        var events: [AppSupervisor.Event] = []
        var isBusy = false
        /// Whether its manifest is gone: the app is forgotten when its process has ended.
        var isLeaving = false
        /// A new manifest of the topic that has appeared since this one went.
        var successor: AppManifest?

        init(_ supervisor: AppSupervisor) { self.supervisor = supervisor }
    }

    private let state: AgentState
    private let streams: AttachedStreams
    private let reasons: LaunchReasons
    private let trouble: StateTrouble
    private let launcher: any AppLauncher
    private let scheduler: any Scheduler
    private let log: Log
    private let random: () -> UInt64
    private var apps: [String: DeclaredApp] = [:]
    private var whenStopped: (() -> Void)?

    init(
        _ manifests: [AppManifest], state: AgentState, streams: AttachedStreams, reasons: LaunchReasons,
        trouble: StateTrouble, launcher: any AppLauncher, scheduler: any Scheduler, log: Log,
        random: @escaping () -> UInt64
    ) {
        self.state = state
        self.streams = streams
        self.reasons = reasons
        self.trouble = trouble
        self.launcher = launcher
        self.scheduler = scheduler
        self.log = log
        self.random = random
        for manifest in manifests { add(manifest) }
    }

    private func add(_ manifest: AppManifest) {
        let (app, topic) = (DeclaredApp(AppSupervisor(manifest)), manifest.topic)
        app.timer = scheduler.makeTimer { [unowned self] in timeIsUp(topic) }
        apps[topic] = app
    }

    /// Takes new manifests. An app whose manifest is gone is ended if the agent has started it; a changed manifest is
    /// followed from the app's next start on. Returns the topics that were added and removed.
    func declare(_ manifests: [AppManifest]) -> (added: [String], removed: [String]) {
        let declared = Dictionary(uniqueKeysWithValues: manifests.map { ($0.topic, $0) })
        let present = Set(apps.filter { !$0.value.isLeaving || $0.value.successor != nil }.keys)
        for (topic, manifest) in declared {
            guard let app = apps[topic] else {
                add(manifest)
                greet(topic)
                continue
            }
            if app.isLeaving { app.successor = manifest } else { app.supervisor.manifest = manifest }
        }
        streams.isReceptionStale = true
        let removed = present.subtracting(declared.keys).sorted()
        for topic in removed {
            apps[topic]?.successor = nil
            apps[topic]?.isLeaving = true
            handle(.stop, topic)
        }
        return (Set(declared.keys).subtracting(present).sorted(), removed)
    }

    /// Forgets an app whose manifest is gone, once its process has ended.
    private func forgetIfEnded(_ topic: String, _ app: DeclaredApp) {
        guard app.isLeaving, app.process == nil else { return }
        apps[topic] = nil
        guard let manifest = app.successor else { return }
        add(manifest)
        greet(topic)
        streams.markDue(topic)
    }

    /// A new manifest may declare an app that runs already.
    private func greet(_ topic: String) {
        if streams.attachments[topic] != nil { handle(.attached, topic) }
    }

    /// Whether an app is attached from another process than the one of the agent's that has ended: somebody else has
    /// started it.
    private func isAttachedElsewhere(_ topic: String, _ app: DeclaredApp) -> Bool {
        guard let streams = streams.attachments[topic]?.streams else { return false }
        return streams.contains { $0.process == nil || $0.process != app.formerProcess }
    }

    /// The timer of an app has fired. If the app ended without attaching, the notification that it was started for
    /// still waits, so its topic is due again.
    private func timeIsUp(_ topic: String) {
        handle(.timeIsUp, topic)
        streams.markDue(topic)
    }

    /// Takes over the processes that an earlier agent left running.
    func start() {
        for (topic, record) in state.processes.records {
            guard let app = apps[topic],
                let process = launcher.adopt(record, ended: { [unowned self] in ended($0, topic) })
            else {
                keep(nil, of: topic)
                continue
            }
            log.notice("\(topic) still runs as process \(record.identifier)", fields: .init(topic: topic))
            app.process = process
            app.supervisor = AppSupervisor(app.supervisor.manifest, isActive: record.isActive)
            app.timer?.arm(afterMilliseconds: Limits.attachMilliseconds)
        }
    }

    /// Whether a manifest declares this topic.
    func isDeclared(_ topic: String) -> Bool { apps[topic].map { !$0.isLeaving } ?? false }

    /// Has an app started if something waits for it.
    func startIfNeeded(_ topic: String) {
        guard apps[topic]?.supervisor.heedsNeed == true, reasons.reason(for: topic) != .itself else { return }
        handle(.needed, topic)
    }

    /// The topics of all declared apps.
    var topics: [String] { Array(apps.keys) }

    /// The state of an app and the number of its process.
    func status(of topic: String) -> (supervisor: AppSupervisor, process: Int32?)? {
        apps[topic].map { ($0.supervisor, $0.process?.identifier) }
    }

    /// Whether a process is the one that the agent has started for an app.
    func isProcess(_ process: Int32?, of topic: String) -> Bool {
        guard let own = apps[topic]?.process?.identifier else { return false }
        return process == nil || process == own
    }

    /// Passes an event to an app's supervisor. Returns false if the app is not declared.
    @discardableResult
    func handle(_ event: AppSupervisor.Event, _ topic: String) -> Bool {
        guard let app = apps[topic] else { return false }
        switch (event, app.supervisor.state) {
        case (.needed, .idle), (.activate, .idle), (.activate, .resting):
            // The app still runs if another process of it is attached beside the agent's, which has ended.
            if isAttachedElsewhere(topic, app) { app.events.append(.attached) }
        case (.needed, .resting): if isAttachedElsewhere(topic, app) { return true }
        default: break
        }
        app.events.append(event)
        guard !app.isBusy else { return true }
        let wasLooping = app.supervisor.isCrashLooping
        app.isBusy = true
        while !app.events.isEmpty {
            let event = app.events.removeFirst()
            let now = Int(scheduler.now / 1_000_000)
            for action in app.supervisor.handle(event, now: now, random: random()) {
                perform(action, topic, app)
            }
        }
        app.isBusy = false
        if let process = app.process {
            keep(process, app.supervisor.isActive, of: topic)
        }
        forgetIfEnded(topic, app)
        if app.supervisor.isCrashLooping != wasLooping { streams.isReceptionStale = true }
        checkEnd()
        return true
    }

    /// Ends the apps that the agent has started; calls `whenStopped` when they are gone.
    func stop(_ whenStopped: @escaping () -> Void) {
        for topic in apps.keys { handle(.stop, topic) }
        self.whenStopped = whenStopped
        checkEnd()
    }

    private func checkEnd() {
        guard let whenStopped, apps.values.allSatisfy({ $0.process == nil }) else { return }
        self.whenStopped = nil
        whenStopped()
    }

    private func perform(_ action: AppSupervisor.Action, _ topic: String, _ app: DeclaredApp) {
        switch action {
        case .start: start(topic, app)
        case .tell(let event):
            var launch = LaunchReason.itself
            if event == .didFinishLaunching, app.process != nil {
                launch = app.supervisor.isLaunchedForUse ? .activation : reasons.reason(for: topic)
            }
            streams.tell(topic, .lifeCycle(LifeCycle(topic: topic, event: event, launch: launch)))
        case .terminate: app.process?.terminate()
        case .kill: app.process?.kill()
        case .arm(let milliseconds): app.timer?.arm(afterMilliseconds: milliseconds)
        case .disarm: app.timer?.disarm()
        case .note(let sentence): say(.info, sentence, of: topic)
        case .report(let sentence): say(.warning, sentence, of: topic)
        }
    }

    private func say(_ level: Log.Level, _ sentence: String, of topic: String) {
        log.write(
            level, "\(topic) \(sentence)", kind: "\(topic) \(sentence)",
            fields: .init(topic: topic, reason: sentence))
    }

    private func start(_ topic: String, _ app: DeclaredApp) {
        let reason = app.supervisor.isLaunchedForUse ? LaunchReason.activation : reasons.reason(for: topic)
        do {
            let process = try launcher.start(app.supervisor.manifest, reason: reason.word) {
                [unowned self] in ended($0, topic)
            }
            app.process = process
            log.notice(
                "started \(topic) as process \(process.identifier): \(reason.word)", kind: "started \(topic)",
                fields: .init(topic: topic, reason: reason.word))
            app.events.append(.started)
        } catch {
            app.events.append(.notStarted("does not run: \(error)"))
        }
    }

    private func ended(_ ending: ProcessEnding, _ topic: String) {
        guard let app = apps[topic] else { return }
        app.formerProcess = app.process?.identifier
        app.process = nil
        keep(nil, of: topic)
        handle(.exited(ending), topic)
    }

    private func keep(_ process: (any AppProcess)?, _ isActive: Bool = false, of topic: String) {
        let record = process.map {
            ProcessRegister.Record(identifier: $0.identifier, startedAt: $0.startedAt, isActive: isActive)
        }
        // A failure does no harm: after a restart the agent learns of the process when the process attaches.
        do throws(StoreError) { try state.processes.put(record, of: topic) } catch {
            trouble.note(error)
        }
    }
}

extension AppSupervisor {
    /// Whether ``Event/needed`` would cause an action.
    var heedsNeed: Bool {
        switch state {
        case .idle: !isStopping
        case .running: !isActive && !manifest.mayRunInBackground
        case .resting, .starting, .ending: !isNeeded
        }
    }
}

extension LaunchReason {
    /// Its value in a program's environment.
    var word: String {
        switch self {
        case .itself: "none"
        case .remote: "remote-notification"
        case .fired: "local-notification"
        case .responded: "response"
        case .activation: "activation"
        }
    }
}

import PostriderCourier
import PostriderNotifications
import PostriderSystem
import PostriderTransport

/// The handler of one topic: its waiting notifications and its runs.
final class HandlerTopic {
    /// One run.
    private final class Run {
        let job: HandlerJob
        var state: HandlerRun
        var process: (any AppProcess)?
        var timer: (any LoopTimer)?
        let startedAt: UInt64

        init(_ job: HandlerJob, seconds: Int, at now: UInt64) {
            self.job = job
            state = HandlerRun(seconds: seconds)
            startedAt = now
        }
    }

    private(set) var manifest: AppManifest
    private var handler: AppManifest.Handler
    /// The stream on which notifications are delivered to the handler.
    private(set) lazy var stream = AppStream(user: manifest.user, isHandler: true) { [unowned self] in
        receive($0)
    }

    private let registrations: AppRegistrations
    private let deliveries: AppDeliveries
    private let whenIdle: () -> Void
    private let launcher: any HandlerLauncher
    private let scheduler: any Scheduler
    private let log: Log
    private var queue = HandlerQueue<HandlerJob>()
    private var runs: [UInt64: Run] = [:]
    /// How often the handler has postponed each notification, since it last failed or since the agent started.
    private var postponements: [NotificationIdentity: Int] = [:]
    private var isStopping = false
    private lazy var turn = scheduler.makeTimer { [unowned self] in startNext() }
    private lazy var retry = scheduler.makeTimer { [unowned self] in register() }

    /// - Parameter whenIdle: called when the last run has ended.
    init(
        _ manifest: AppManifest, _ handler: AppManifest.Handler, registrations: AppRegistrations,
        deliveries: AppDeliveries, launcher: any HandlerLauncher, scheduler: any Scheduler, log: Log,
        whenIdle: @escaping () -> Void
    ) {
        self.manifest = manifest
        self.handler = handler
        self.registrations = registrations
        self.deliveries = deliveries
        self.whenIdle = whenIdle
        self.launcher = launcher
        self.scheduler = scheduler
        self.log = log
    }

    /// Whether nothing runs.
    var isIdle: Bool { runs.isEmpty }
    /// The process of the oldest run.
    var process: Int32? { runs.min { $0.key < $1.key }?.value.process?.identifier }

    /// Takes a new manifest, which counts from the next run on. Returns false if it needs another stream or launcher.
    func accepts(_ manifest: AppManifest, _ handler: AppManifest.Handler) -> Bool {
        guard manifest.user == self.manifest.user, handler.environment == self.handler.environment,
            (handler.unit == nil) == (self.handler.unit == nil)
        else { return false }
        self.manifest = manifest
        self.handler = handler
        startNext()
        return true
    }

    /// Registers the topic, as an app does. If the program cannot be started, that is logged now; the topic is
    /// registered all the same, because the program may be there when a notification arrives.
    func begin() {
        if handler.unit == nil, let mistake = ProgramHandlers.mistake(in: handler, of: manifest) {
            log.warning(
                "\(manifest.topic): its handler cannot be started now: \(mistake)",
                fields: .init(topic: manifest.topic, reason: mistake))
        }
        register()
    }

    private func register() {
        guard !isStopping else { return }
        registrations.register(manifest.topic, in: handler.environment, for: stream)
    }

    /// Starts nothing more. Programs are asked to end; units belong to systemd and go on.
    func stop() {
        guard !isStopping else { return }
        isStopping = true
        stream.isLeaving = true
        queue.drop()
        retry.disarm()
        for run in Array(runs.values) {
            if handler.unit == nil { handle(.stop, run) } else { finish(run) }
        }
        deliveries.left(stream, isBroken: false)
        registrations.left(stream)
    }

    // MARK: Deliveries

    private func receive(_ message: AgentMessage) {
        switch message {
        case .refused(let refused):
            log.warning(
                "\(manifest.topic): its handler is not registered: \(refused.reason)",
                kind: "handler refused: \(manifest.topic)",
                fields: .init(topic: manifest.topic, reason: refused.reason))
            retry.arm(afterMilliseconds: Limits.handlerRegistrationMilliseconds)
        case .registered:
            log.notice(
                "\(manifest.topic) is registered for its handler",
                kind: "handler registered: \(manifest.topic)", fields: .init(topic: manifest.topic))
        default:
            guard let job = HandlerJob(message) else { return }
            queue.add(job)
            // The agent is in the middle of handing over, so this waits for the next turn.
            turn.arm(afterMilliseconds: 0)
        }
    }

    // MARK: Runs

    private func startNext() {
        while !isStopping, let job = queue.next(atOnce: handler.parallelism) { start(job) }
    }

    private func start(_ job: HandlerJob) {
        var job = job
        let attempts = deliveries.attempts(at: job.delivery, of: stream)
        job.set(attempt: attempts + 1)
        let run = Run(job, seconds: handler.seconds, at: scheduler.now)
        run.timer = scheduler.makeTimer { [unowned self, unowned run] in handle(.timeIsUp, run) }
        runs[job.delivery] = run
        do {
            run.process = try launcher.start(handler, of: manifest, for: job) {
                [weak self, weak run] result in
                if let self, let run { ended(run, result) }
            }
        } catch {
            finish(run)
            settle(run, .failed("does not run: \(error)"), HandlerTail([]))
            return
        }
        if attempts == 0, postponements[job.identity] == nil {
            deliveries.report(.begun, of: job.delivery, on: stream)
        }
        log.debug(
            "\(manifest.topic): its handler was started, \(job.identity)",
            fields: .init(topic: manifest.topic, apnsID: "\(job.identity)"))
        handle(.started, run)
    }

    private func handle(_ event: HandlerRun.Event, _ run: Run, tail: HandlerTail = HandlerTail([])) {
        guard runs[run.job.delivery] === run else { return }
        for action in run.state.handle(event) {
            switch action {
            case .arm(let milliseconds): run.timer?.arm(afterMilliseconds: milliseconds)
            case .terminate: run.process?.terminate()
            case .kill: run.process?.kill()
            case .settle(let verdict):
                finish(run)
                settle(run, verdict, tail)
            }
        }
    }

    private func ended(_ run: Run, _ result: ProgramResult) {
        handle(.ended(result.ending), run, tail: HandlerTail(result.output))
    }

    private func finish(_ run: Run) {
        run.timer?.disarm()
        run.process = nil
        runs[run.job.delivery] = nil
        queue.ended()
        turn.arm(afterMilliseconds: 0)
        if runs.isEmpty { whenIdle() }
    }

    private func settle(_ run: Run, _ verdict: HandlerRun.Verdict, _ tail: HandlerTail) {
        let (delivery, identity) = (run.job.delivery, run.job.identity)
        let report = tail.text(atMost: Limits.handlerReportBytes)
        let after = "after \((scheduler.now - run.startedAt) / 1_000_000) ms"
        switch verdict {
        case .done:
            postponements[identity] = nil
            tell(.info, "has handled \(identity) \(after)", run.job, tail)
            _ = deliveries.handled([delivery], by: stream, output: report)
        case .postponed:
            // The rows of replaced notifications are never settled, so their counts are dropped here.
            if postponements.count >= Limits.postponedPerTopic { postponements = [:] }
            let times = (postponements[identity] ?? 0) + 1
            postponements[identity] = times
            tell(.info, "asks for another time for \(identity) \(after)", run.job, tail)
            deliveries.postponed(delivery, times: times, text: report, by: stream)
        case .failed(let reason):
            postponements[identity] = nil
            tell(.warning, "has failed at \(identity) \(after): it \(reason)", run.job, tail, reason)
            let words = report.isEmpty ? reason : "\(reason): \(report)"
            _ = deliveries.failed(Failed(delivery: delivery, reason: "The handler \(words)"), by: stream)
        case .interrupted:
            tell(
                .notice, "was ended at \(identity) \(after), and is started for it again", run.job, tail)
        }
    }

    private func tell(
        _ level: Log.Level, _ words: String, _ job: HandlerJob, _ tail: HandlerTail,
        _ reason: String? = nil
    ) {
        let text = tail.text(atMost: Limits.handlerTailLines.bytes)
        log.write(
            level, "\(manifest.topic): its handler \(words)\(text.isEmpty ? "" : "; it wrote: \(text)")",
            kind: "handler \(level): \(manifest.topic)", from: manifest.topic,
            fields: .init(topic: manifest.topic, apnsID: "\(job.identity)", reason: reason))
    }
}

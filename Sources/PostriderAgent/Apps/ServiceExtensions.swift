import FoundationEssentials
import PostriderCourier
import PostriderJSON
import PostriderNotifications
import PostriderSystem
import PostriderTransport

/// Starts programs that read stdin and write stdout.
protocol ProgramRunner: AnyObject {
    /// Starts the service extension of an app.
    ///
    /// - Parameters:
    ///   - input: what it reads on standard input, up to the end.
    ///   - ended: called once, when it has ended; never before this returns.
    /// - Throws: `TransportError` or ``AgentFailure``, one sentence.
    func run(
        _ service: AppManifest.ServiceExtension, of manifest: AppManifest, input: [UInt8],
        ended: @escaping (ProgramResult) -> Void
    ) throws -> any AppProcess
}

/// Runs the service extensions of apps, which change alerts before they are shown, as `UNNotificationServiceExtension`
/// does on iOS.
///
///     alert ─▶ waits for its turn ─▶ program: payload on stdin ─▶ changed payload on stdout ─▶ alert
///
/// An alert waits for a bounded time, including the time until its turn. A program that fails or takes longer changes
/// nothing.
final class ServiceExtensions {
    private final class Job {
        let alert: Alert
        let manifest: AppManifest
        let service: AppManifest.ServiceExtension
        let done: (Alert?) -> Void
        var timer: (any LoopTimer)?
        var process: (any AppProcess)?
        var wasTold = false

        init(
            _ alert: Alert, _ manifest: AppManifest, _ service: AppManifest.ServiceExtension,
            _ done: @escaping (Alert?) -> Void
        ) {
            self.alert = alert
            self.manifest = manifest
            self.service = service
            self.done = done
        }
    }

    private let runner: any ProgramRunner
    private let scheduler: any Scheduler
    private let log: Log
    /// All jobs in the order in which their alerts arrived.
    private var jobs: [Job] = []
    /// Apps whose extension failed the last time; that has been logged.
    private var failing: Set<String> = []

    init(_ runner: any ProgramRunner, scheduler: any Scheduler, log: Log) {
        self.runner = runner
        self.scheduler = scheduler
        self.log = log
    }

    /// Has an alert changed.
    ///
    /// - Parameter done: called once with the changed alert, or with nil if the original is to be shown; not called if
    ///   the job is cancelled.
    func change(_ alert: Alert, of manifest: AppManifest, _ done: @escaping (Alert?) -> Void) {
        guard let service = manifest.serviceExtension, jobs.count < Limits.waitingExtensions else {
            fail(alert.key.topic, "has \(Limits.waitingExtensions) alerts waiting for it already")
            return done(nil)
        }
        let job = Job(alert, manifest, service, done)
        let timer = scheduler.makeTimer { [weak self, weak job] in
            if let job { self?.timeIsUp(job) }
        }
        job.timer = timer
        jobs.append(job)
        timer.arm(afterMilliseconds: Self.milliseconds(untilToldOf: service))
        startNext()
    }

    /// Cancels the jobs of alerts that are not to be shown any more.
    ///
    /// - Returns: the alerts of these jobs.
    @discardableResult
    func cancel(where isMeant: (Alert) -> Bool) -> [Alert] {
        let cancelled = jobs.filter { isMeant($0.alert) }
        for job in cancelled { drop(job) }
        startNext()
        return cancelled.map(\.alert)
    }

    /// The agent ends; the next agent starts again with the alerts that wait.
    func stop() { for job in jobs { drop(job) } }

    /// When an extension is told that its time is nearly over: after four fifths of it.
    private static func milliseconds(untilToldOf service: AppManifest.ServiceExtension) -> Int {
        service.milliseconds * 4 / 5
    }

    private func startNext() {
        var busy = Set(jobs.filter { $0.process != nil }.map(\.alert.key.topic))
        var running = jobs.count { $0.process != nil }
        for job in jobs where job.process == nil && running < Limits.extensionsAtOnce {
            guard busy.insert(job.alert.key.topic).inserted else { continue }
            if start(job) { running += 1 }
        }
    }

    private func start(_ job: Job) -> Bool {
        guard case .remote(let payload) = job.alert.subject else { return false }
        do {
            job.process = try runner.run(job.service, of: job.manifest, input: payload) {
                [weak self, weak job] result in
                if let job { self?.ended(job, result) }
            }
            return true
        } catch {
            finish(job, .failure(Failure("does not run: \(error)")))
            return false
        }
    }

    private func timeIsUp(_ job: Job) {
        guard !job.wasTold else {
            let reason = job.process == nil ? "had no turn" : "was not done"
            return finish(job, .failure(Failure("\(reason) within \(job.service.milliseconds) ms")))
        }
        job.wasTold = true
        job.process?.terminate()
        let rest = job.service.milliseconds - Self.milliseconds(untilToldOf: job.service)
        job.timer?.arm(afterMilliseconds: rest)
    }

    private func ended(_ job: Job, _ result: ProgramResult) {
        guard jobs.contains(where: { $0 === job }) else { return }
        job.process = nil
        finish(job, Self.change(job.alert, by: result))
    }

    /// The end of a sentence about a program that failed.
    private struct Failure: Error {
        let reason: String
        init(_ reason: String) { self.reason = reason }
    }

    private static func change(_ alert: Alert, by result: ProgramResult) -> Result<Alert, Failure> {
        guard !result.isCut else {
            return .failure(Failure("has written more than \(Limits.extensionOutputBytes) bytes"))
        }
        guard result.ending == .exited(0) else { return .failure(Failure("\(result.ending)")) }
        // By the same rules by which the relay, the app and the alert read a payload.
        guard JSONValue.members(ofObject: result.output.span) != nil else {
            return .failure(Failure("has not written a JSON object"))
        }
        guard let changed = alert.changed(to: result.output) else {
            return .failure(Failure("has left nothing to read under aps.alert"))
        }
        return .success(changed)
    }

    private func finish(_ job: Job, _ result: Result<Alert, Failure>) {
        drop(job)
        switch result {
        case .success(let alert):
            failing.remove(job.alert.key.topic)
            job.done(alert)
        case .failure(let failure):
            fail(job.alert.key.topic, failure.reason)
            job.done(nil)
        }
        startNext()
    }

    private func drop(_ job: Job) {
        jobs.removeAll { $0 === job }
        job.timer?.disarm()
        job.process?.kill()
        job.process = nil
    }

    /// Logs a failure; not again before the extension has succeeded.
    private func fail(_ topic: String, _ reason: String) {
        let isNews = failing.insert(topic).inserted
        let sentence = "\(topic): its service extension \(reason); the alert is shown as it came"
        log.write(isNews ? .warning : .debug, sentence, fields: .init(topic: topic, reason: reason))
    }
}

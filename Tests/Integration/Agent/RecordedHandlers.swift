import PostriderNotifications
import PostriderSystem
import PostriderTransport

@testable import PostriderAgent

/// A launcher of handlers that starts nothing; tests decide how each run ends.
final class RecordedHandlers: HandlerLauncher {
    final class Run: AppProcess {
        let identifier: Int32
        let startedAt: UInt64 = 1
        let job: HandlerJob
        private(set) var orders: [String] = []
        private let ended: (ProgramResult) -> Void

        fileprivate init(_ identifier: Int32, _ job: HandlerJob, _ ended: @escaping (ProgramResult) -> Void) {
            (self.identifier, self.job, self.ended) = (identifier, job, ended)
        }

        func terminate() { orders.append("terminate") }
        func kill() { orders.append("kill") }

        /// Ends the run.
        func end(_ ending: ProcessEnding, _ output: String = "") {
            ended(ProgramResult(ending: ending, output: Array(output.utf8)))
        }
    }

    /// All started runs, the newest last.
    private(set) var runs: [Run] = []
    /// The reason for which no run can start; nil: runs start.
    var mistake: String?

    func start(
        _ handler: AppManifest.Handler, of manifest: AppManifest, for job: HandlerJob,
        ended: @escaping (ProgramResult) -> Void
    ) throws -> any AppProcess {
        if let mistake { throw AgentFailure(description: mistake) }
        let run = Run(Int32(runs.count + 1), job, ended)
        runs.append(run)
        return run
    }
}

/// A clock whose timers fire when they are due and the test says so.
final class DueClock: Scheduler {
    private final class Timer: LoopTimer {
        let fire: () -> Void
        let clock: StandingClock
        var due: UInt64?
        init(_ clock: StandingClock, _ fire: @escaping () -> Void) { (self.clock, self.fire) = (clock, fire) }
        func arm(afterMilliseconds milliseconds: Int) {
            due = clock.now + UInt64(milliseconds) * 1_000_000
        }
        func disarm() { due = nil }
        var isArmed: Bool { due != nil }
    }

    private let clock: StandingClock
    private var timers: [() -> Timer?] = []

    init(_ clock: StandingClock) { self.clock = clock }

    var now: UInt64 { clock.now }
    var wallMilliseconds: Int64 { clock.wallMilliseconds }

    func makeTimer(_ fire: @escaping () -> Void) -> any LoopTimer {
        let timer = Timer(clock, fire)
        timers.append { [weak timer] in timer }
        return timer
    }

    /// Fires the timers that are due.
    func fireTimers() {
        for timer in timers.compactMap({ $0() }) {
            guard let due = timer.due, due <= clock.now else { continue }
            timer.due = nil
            timer.fire()
        }
    }
}

extension AppManifest {
    /// Makes a manifest with a handler.
    static func handled(
        _ topic: String = RecordedApp.topic, by handler: Handler = Handler(), user: UInt32 = 1000
    ) -> AppManifest {
        var manifest = AppManifest(topic: topic, user: user, program: "/bin/true")
        manifest.handler = handler
        return manifest
    }
}

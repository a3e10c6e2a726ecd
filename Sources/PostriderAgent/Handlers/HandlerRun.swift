import PostriderNotifications
import PostriderTransport

/// One run of a handler, from its start to what its end means. A state machine: events in, actions out, no clock and no
/// process.
///
///     running ─ time is up, or the agent ends ─▶ terminated ─ a farewell later ─▶ killed ─▶ over
struct HandlerRun {
    enum Event: Equatable {
        case started
        /// The time has come that was asked for last.
        case timeIsUp
        /// The agent ends, or the manifest is gone.
        case stop
        case ended(ProcessEnding)
    }

    enum Action: Equatable {
        /// Say ``Event/timeIsUp`` after so long.
        case arm(milliseconds: Int)
        /// Ask the program to end (SIGTERM), or end it with its process group (SIGKILL).
        case terminate, kill
        /// The run is over.
        case settle(Verdict)
    }

    /// What the end of a run means for its notification.
    enum Verdict: Equatable {
        /// It is handled.
        case done
        /// The handler is to be started for it later, and this attempt does not count (EX_TEMPFAIL of sysexits(3)).
        case postponed
        /// This attempt counts as failed, for this reason: one phrase.
        case failed(String)
        /// Nothing is known: the agent has ended the run. It does not count.
        case interrupted
    }

    private enum State: Equatable { case running, terminated, killed }

    private let seconds: Int
    private var state = State.running
    private var isLate = false
    private var isStopped = false

    /// EX_TEMPFAIL.
    static let temporaryFailure: Int32 = 75

    /// A run that may take so long.
    init(seconds: Int) { self.seconds = seconds }

    /// What is to be done upon an event, in order.
    mutating func handle(_ event: Event) -> [Action] {
        switch event {
        case .started: return [.arm(milliseconds: seconds * 1000)]
        case .timeIsUp: return timeIsUp()
        case .stop:
            isStopped = true
            return state == .running ? terminate() : []
        case .ended(let ending): return [.settle(verdict(on: ending))]
        }
    }

    private mutating func timeIsUp() -> [Action] {
        switch state {
        case .running:
            isLate = true
            return terminate()
        case .terminated:
            state = .killed
            return [.kill]
        case .killed: return []
        }
    }

    private mutating func terminate() -> [Action] {
        state = .terminated
        return [.terminate, .arm(milliseconds: Limits.farewellMilliseconds)]
    }

    /// The exit code counts, also of a handler that was asked to end: it may have been about to.
    private func verdict(on ending: ProcessEnding) -> Verdict {
        switch ending {
        case .exited(0): .done
        case .exited(Self.temporaryFailure): .postponed
        case _ where isLate: .failed("was not done after \(seconds) s, and was ended")
        case _ where isStopped: .interrupted
        case .exited, .killed, .unknown: .failed("\(ending)")
        }
    }
}

/// The notifications that wait for their handler's turn, in order, and those for which it runs.
struct HandlerQueue<Job> {
    private var waiting: [Job] = []
    /// How many runs there are.
    private(set) var running = 0

    /// How many wait.
    var count: Int { waiting.count }

    /// A notification has come. There are never more than an app's window of them.
    mutating func add(_ job: Job) { waiting.append(job) }

    /// The one whose turn it is, if another may run.
    mutating func next(atOnce most: Int) -> Job? {
        guard running < most, !waiting.isEmpty else { return nil }
        running += 1
        return waiting.removeFirst()
    }

    /// A run is over.
    mutating func ended() { running -= 1 }

    /// Those that wait are not run.
    mutating func drop() { waiting = [] }
}

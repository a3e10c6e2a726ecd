import PostriderNotifications
import PostriderSystem
import PostriderTransport

/// One run of a handler, from its start to the result. A state machine: events in, actions out, no clock and no
/// process.
///
///     running ─ time is up, or the agent ends ─▶ terminated ─ a farewell later ─▶ killed ─▶ over
struct HandlerRun {
    enum Event: Equatable {
        case started
        /// The timer that was set by ``Action/arm(milliseconds:)`` has fired.
        case timeIsUp
        /// The agent ends, or the manifest is gone.
        case stop
        case ended(ProcessEnding)
    }

    enum Action: Equatable {
        /// Set the timer for ``Event/timeIsUp``.
        case arm(milliseconds: Int)
        /// Ask the program to end (SIGTERM), or kill it with its process group (SIGKILL).
        case terminate, kill
        /// The run is over, with this result.
        case settle(Verdict)
    }

    /// What the end of a run means for its notification.
    enum Verdict: Equatable {
        /// The notification is handled.
        case done
        /// The handler is to be started again later, and this attempt does not count (EX_TEMPFAIL of sysexits(3)).
        case postponed
        /// This attempt has failed, for this reason: one phrase.
        case failed(String)
        /// The agent has ended the run, so its result is unknown. It does not count.
        case interrupted
    }

    private enum State: Equatable { case running, terminated, killed }

    private let seconds: Int
    private var state = State.running
    private var isLate = false
    private var isStopped = false

    /// EX_TEMPFAIL.
    static let temporaryFailure: Int32 = 75

    /// A run that may take this long.
    init(seconds: Int) { self.seconds = seconds }

    /// Handles an event and returns the actions, in order.
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

    /// The exit code counts even if the handler was asked to end: it may have finished by itself.
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

/// The notifications that wait for their handler, in order, and the number of runs.
struct HandlerQueue<Job> {
    private var waiting: [Job] = []
    /// How many runs there are.
    private(set) var running = 0

    /// How many notifications wait.
    var count: Int { waiting.count }

    /// Adds a notification. There are never more than an app's window of them.
    mutating func add(_ job: Job) { waiting.append(job) }

    /// Removes and returns the next notification, if another run is allowed.
    mutating func next(atOnce most: Int) -> Job? {
        guard running < most, !waiting.isEmpty else { return nil }
        running += 1
        return waiting.removeFirst()
    }

    /// A run is over.
    mutating func ended() { running -= 1 }

    /// Removes the notifications that wait.
    mutating func drop() { waiting = [] }
}

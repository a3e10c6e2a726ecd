import PostriderCourier
import PostriderNotifications
import PostriderSystem
import PostriderTransport

/// Decides when a declared app is started, what it is told, and when it is ended. A state machine: events in, actions
/// out, no clock and no process.
///
///     idle ─▶ starting ─▶ running ─▶ ending ─▶ idle        after an exit for nothing: ─▶ resting ─▶ idle, starting
struct AppSupervisor {
    enum Event: Equatable {
        /// Something waits for the app.
        case needed
        /// Somebody wants to use the app, or has turned to another app.
        case activate, suspend
        /// The result of ``Action/start``.
        case started, notStarted(String)
        /// The app has a stream to the agent, or has lost its last one.
        case attached, detached
        /// The app has settled a delivery, or has not settled one in time.
        case handled, stuck(String)
        /// The process that the agent started has ended.
        case exited(ProcessEnding)
        /// The timer that was set by ``Action/arm(milliseconds:)`` has fired.
        case timeIsUp
        /// The agent ends.
        case stop
    }

    enum Action: Equatable {
        /// Start the program.
        case start
        /// Send the app an event of its life cycle.
        case tell(LifeCycle.Event)
        /// Ask the process to end (SIGTERM), or end it (SIGKILL).
        case terminate, kill
        /// Set the timer for ``Event/timeIsUp``, in place of an earlier one; or cancel it.
        case arm(milliseconds: Int), disarm
        /// Write a sentence about the app, which follows its topic, into the log: as a notice, or as a warning.
        case note(String), report(String)
    }

    enum State: Equatable {
        /// The app does not run, as far as the agent knows.
        case idle
        /// The app has ended without handling anything: the next start waits.
        case resting
        /// There is a process, but no stream yet, or not again.
        case starting
        /// The app has a stream.
        case running
        /// The app was told that it will end; then asked with SIGTERM; then killed.
        case ending(Step)
    }

    enum Step: Equatable { case told, terminated, killed }

    /// The manifest that counts from the next start on.
    var manifest: AppManifest
    private(set) var state = State.idle
    /// Whether there is a process that the agent has started.
    private(set) var hasProcess = false
    /// Whether the app is in the foreground.
    private(set) var isActive = false
    /// Whether it ends again and again without handling anything.
    var isCrashLooping: Bool { crashes.isLooping }
    /// Whether it was started because somebody wants to use it.
    private(set) var isLaunchedForUse = false

    private(set) var isNeeded = false
    private var isUseWanted = false
    /// Whether it is being ended because it did not attach, or is stuck.
    private var isFault = false
    private(set) var isStopping = false
    private var hasHandled = false
    private var crashes = CrashHistory()

    init(_ manifest: AppManifest) { self.manifest = manifest }

    /// The supervisor of a process that an earlier agent started.
    init(_ manifest: AppManifest, isActive: Bool) {
        self.manifest = manifest
        self.isActive = isActive
        hasProcess = true
        state = .starting
    }

    /// Handles an event and returns the actions, in order.
    ///
    /// - Parameters:
    ///   - now: milliseconds of a monotonic clock.
    ///   - random: 64 random bits.
    mutating func handle(_ event: Event, now: Int, random: UInt64) -> [Action] {
        switch event {
        case .needed: needed()
        case .activate: activate()
        case .suspend: suspend()
        case .started: waitForStream()
        case .notStarted(let sentence): [.report(sentence)] + rest(now, random)
        case .attached: attached()
        case .detached: detached()
        case .handled: handled()
        case .stuck(let sentence): stuck(sentence)
        case .exited(let ending): exited(ending, now, random)
        case .timeIsUp: timeIsUp()
        case .stop: stop()
        }
    }

    // MARK: Starting

    private mutating func needed() -> [Action] {
        switch state {
        case .idle: return begin()
        case .running where !isActive && !manifest.mayRunInBackground: return becomeActive()
        case .running: return []
        case .resting, .starting, .ending:
            isNeeded = true
            return []
        }
    }

    private mutating func begin() -> [Action] {
        guard !isStopping else { return [] }
        state = .starting
        isLaunchedForUse = isUseWanted
        isActive = isUseWanted || !manifest.mayRunInBackground
        isNeeded = false
        isUseWanted = false
        hasHandled = false
        return [.start]
    }

    private mutating func waitForStream() -> [Action] {
        hasProcess = true
        return [.arm(milliseconds: Limits.attachMilliseconds)]
    }

    private mutating func attached() -> [Action] {
        switch state {
        case .idle, .resting:
            // Somebody else has started it, so somebody wants to use it.
            (isActive, isLaunchedForUse, hasHandled) = (true, false, false)
        case .starting, .running: break
        case .ending: return [.tell(.willTerminate)]
        }
        state = .running
        isNeeded = false
        return [
            .disarm, .tell(.didFinishLaunching), .tell(isActive ? .didBecomeActive : .didEnterBackground),
        ]
    }

    private mutating func handled() -> [Action] {
        hasHandled = true
        crashes.handled()
        return []
    }

    // MARK: Foreground and background

    private mutating func activate() -> [Action] {
        switch state {
        case .idle, .resting:
            crashes.forgive()
            isUseWanted = true
            return [.disarm] + begin()
        case .starting:
            isActive = true
            return []
        case .running: return isActive ? [] : becomeActive()
        case .ending:
            isNeeded = true
            isUseWanted = true
            return []
        }
    }

    private mutating func becomeActive() -> [Action] {
        isActive = true
        return [.tell(.didBecomeActive)]
    }

    private mutating func suspend() -> [Action] {
        guard state == .running else {
            if state == .starting, manifest.mayRunInBackground { isActive = false }
            return []
        }
        let events: [Action] = isActive ? [.tell(.didEnterBackground)] : []
        isActive = false
        return events + (manifest.exitsOnSuspend ? tellEnd() : [])
    }

    // MARK: Ending

    private mutating func tellEnd() -> [Action] {
        state = .ending(.told)
        return [.tell(.willTerminate), .arm(milliseconds: Limits.farewellMilliseconds)]
    }

    private mutating func terminate() -> [Action] {
        state = .ending(.terminated)
        return [.terminate, .arm(milliseconds: Limits.farewellMilliseconds)]
    }

    /// An app that is stuck counts as crashed.
    private mutating func stuck(_ sentence: String) -> [Action] {
        guard state == .running, hasProcess else { return [] }
        isFault = true
        return [.report(sentence)] + terminate()
    }

    private mutating func detached() -> [Action] {
        switch state {
        case .running where hasProcess:
            // The process ends, or attaches again.
            state = .starting
            return waitForStream()
        case .running: return over()
        case .ending(.told) where hasProcess:
            // The app was told that it will end, and may end by itself.
            return [.arm(milliseconds: Limits.farewellMilliseconds)]
        case .ending(.told): return over()
        case .idle, .resting, .starting, .ending: return []
        }
    }

    private mutating func exited(_ ending: ProcessEnding, _ now: Int, _ random: UInt64) -> [Action] {
        hasProcess = false
        let wasAskedFor = [.ending(.told), .ending(.terminated)].contains(state)
        let isPlain = ending == .exited(0) || ending == .unknown
        let sentence = "\(ending)\(hasHandled ? "" : " and had handled nothing")"
        let word: Action = isPlain || wasAskedFor ? .note("\(ending)") : .report(sentence)
        if case .ending = state, !isFault { return [word] + over() }
        isFault = false
        return [word] + (hasHandled ? over() : rest(now, random))
    }

    /// The process has ended. If something arrived for the app meanwhile, it is started again.
    private mutating func over() -> [Action] {
        state = .idle
        isActive = false
        let next = isNeeded ? begin() : []
        return [.disarm] + next
    }

    /// The app has ended without handling anything: the pause before the next start grows, and is very long in a crash
    /// loop.
    private mutating func rest(_ now: Int, _ random: UInt64) -> [Action] {
        guard !isStopping else { return over() }
        state = .resting
        isActive = false
        let (delay, isNews) = crashes.ended(at: now, random: random)
        let report = Action.report(
            "is in a crash loop, \(Limits.crashLoopExits) ends without having handled anything; "
                + "the next start is in \(delay / 1000) s, or upon 'postrider-agent activate'")
        return (isNews ? [report] : []) + [.arm(milliseconds: delay)]
    }

    private mutating func timeIsUp() -> [Action] {
        switch state {
        case .resting:
            state = .idle
            return isNeeded ? begin() : []
        case .starting:
            isFault = true
            let sentence = "has not attached within \(Limits.attachMilliseconds / 1000) s, and is ended"
            return [.report(sentence)] + terminate()
        case .ending(.told) where hasProcess: return terminate()
        case .ending(.told):
            // The process is not the agent's: it may stay.
            state = .running
            return [.report("was asked to end, and has not")]
        case .ending(.terminated):
            state = .ending(.killed)
            return [.kill]
        case .idle, .running, .ending(.killed): return []
        }
    }

    private mutating func stop() -> [Action] {
        isStopping = true
        isNeeded = false
        switch state {
        case .running where hasProcess:
            let events: [Action] = isActive ? [.tell(.didEnterBackground)] : []
            isActive = false
            return events + tellEnd()
        case .starting where hasProcess: return terminate()
        case .idle, .resting, .running, .starting: return [.disarm]
        case .ending: return []
        }
    }
}

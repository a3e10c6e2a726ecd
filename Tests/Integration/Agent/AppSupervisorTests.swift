import PostriderCourier
import PostriderNotifications
import PostriderSystem
import PostriderTransport
import Testing

@testable import PostriderAgent

@Suite("The supervisor of an app")
struct AppSupervisorTests {
    private typealias Event = AppSupervisor.Event
    private typealias Action = AppSupervisor.Action

    private static let attach = Action.arm(milliseconds: Limits.attachMilliseconds)
    private static let farewell = Action.arm(milliseconds: Limits.farewellMilliseconds)
    private static let first: [Action] = [.disarm, .tell(.didFinishLaunching)]

    /// Events of an app's process, each with the expected actions.
    private struct Life: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var manifest = AppManifest.sample()
        let steps: [(Event, [Action])]
    }

    private static let running: [(Event, [Action])] = [
        (.needed, [.start]), (.started, [attach]),
        (.attached, first + [.tell(.didEnterBackground)]), (.handled, []),
    ]
    private static let used: [(Event, [Action])] = [
        (.activate, [.disarm, .start]), (.started, [attach]),
        (.attached, first + [.tell(.didBecomeActive)]), (.handled, []),
    ]

    private static let lives: [Life] = [
        Life(
            testDescription: "is started once for what waits, in the background, and rests when it has ended",
            steps: running + [
                (.needed, []), (.detached, [attach]),
                (.exited(.exited(0)), [.note("ended with exit code 0"), .disarm]),
            ]
                + running),
        Life(
            testDescription:
                "is made active where it may not be in the background, before it is given anything",
            manifest: .sample(mayRunInBackground: false),
            steps: [
                (.needed, [.start]), (.started, [attach]),
                (.attached, first + [.tell(.didBecomeActive)]), (.suspend, [.tell(.didEnterBackground)]),
                (.needed, [.tell(.didBecomeActive)]), (.needed, []),
            ]),
        Life(
            testDescription: "goes to the back and to the front, and stays",
            steps: used + [
                (.activate, []), (.suspend, [.tell(.didEnterBackground)]), (.suspend, []),
                (.activate, [.tell(.didBecomeActive)]),
            ]),
        Life(
            testDescription: "is ended on suspension, asked, then told, then made to",
            manifest: .sample(exitsOnSuspend: true),
            steps: used + [
                (.suspend, [.tell(.didEnterBackground), .tell(.willTerminate), farewell]),
                (.timeIsUp, [.terminate, farewell]), (.timeIsUp, [.kill]),
                (.exited(.killed(9)), [.report("was ended by signal 9"), .disarm]),
            ]),
        Life(
            testDescription:
                "may end by itself when it has said goodbye, and is started anew if needed",
            manifest: .sample(exitsOnSuspend: true),
            steps: used + [
                (.suspend, [.tell(.didEnterBackground), .tell(.willTerminate), farewell]),
                (.detached, [farewell]), (.needed, []),
                (.exited(.exited(0)), [.note("ended with exit code 0"), .disarm, .start]),
                (.started, [attach]),
            ]),
        Life(
            testDescription: "is ended where it does not attach, and started again later",
            steps: [
                (.needed, [.start]), (.started, [attach]), (.needed, []),
                (
                    .timeIsUp,
                    [.report("has not attached within 30 s, and is ended"), .terminate, farewell]
                ),
                (.exited(.killed(15)), [.note("was ended by signal 15"), .arm(milliseconds: 0)]),
                (.timeIsUp, [.start]),
            ]),
        Life(
            testDescription: "is started again later where its program cannot be started, if something waits",
            steps: [
                (.needed, [.start]), (.notStarted("No."), [.report("No."), .arm(milliseconds: 0)]),
                (.needed, []), (.timeIsUp, [.start]),
            ]),
        Life(
            testDescription: "comes back to an agent without another word about its end",
            steps: running + [
                (.detached, [attach]), (.attached, first + [.tell(.didEnterBackground)]),
            ]),
        Life(
            testDescription: "that somebody else has started is active, and nobody's to kill",
            manifest: .sample(exitsOnSuspend: true),
            steps: [
                (.attached, first + [.tell(.didBecomeActive)]),
                (.suspend, [.tell(.didEnterBackground), .tell(.willTerminate), farewell]),
                (.timeIsUp, [.report("was asked to end, and has not")]), (.detached, [.disarm]),
                (.needed, [.start]),
            ]),
        Life(
            testDescription: "is told when the agent ends, and not started again",
            steps: used + [
                (.stop, [.tell(.didEnterBackground), .tell(.willTerminate), farewell]),
                (.detached, [farewell]), (.needed, []), (.timeIsUp, [.terminate, farewell]),
                (.exited(.killed(15)), [.note("was ended by signal 15"), .disarm]),
            ]),
    ]

    @Test("does what a table says", arguments: lives.indices)
    func table(_ index: Int) {
        let life = Self.lives[index]
        var supervisor = AppSupervisor(life.manifest)
        for (number, (event, actions)) in life.steps.enumerated() {
            let found = supervisor.handle(event, now: 0, random: 0)
            #expect(found == actions, "\(life.testDescription), step \(number): \(event)")
        }
    }

    @Test("tells a crash loop from exits that come of work, and says so once")
    func crashLoop() {
        var supervisor = AppSupervisor(.sample())
        /// Starts and ends one process that handled nothing, at this time.
        func die(at now: Int) -> [Action] {
            _ = supervisor.handle(.needed, now: now, random: 0)
            if supervisor.state == .resting { _ = supervisor.handle(.timeIsUp, now: now, random: 0) }
            _ = supervisor.handle(.started, now: now, random: 0)
            return supervisor.handle(.exited(.killed(11)), now: now, random: .max)
        }
        var delays: [Int] = []
        for exit in 1..<Limits.crashLoopExits {
            let actions = die(at: exit)
            #expect(actions.first == .report("was ended by signal 11 and had handled nothing"))
            guard case .arm(let delay) = actions.last else { continue }
            delays.append(delay)
        }
        #expect(delays == [1000, 2000, 4000, 8000, 16_000, 32_000, 60_000])
        #expect(!supervisor.isCrashLooping)
        let loop = die(at: 10)
        #expect(loop.count == 3 && supervisor.isCrashLooping)
        #expect(loop.last == .arm(milliseconds: Limits.crashLoopPauseMilliseconds * 5 / 4 - 1))
        #expect(die(at: 11).count == 2)
        // A user who activates the app does not wait for the pause.
        #expect(supervisor.handle(.activate, now: 12, random: 0) == [.disarm, .start])
        #expect(!supervisor.isCrashLooping)
    }

    @Test("forgets exits that lie far back, and all of them once something was handled")
    func recovery() {
        var supervisor = AppSupervisor(.sample())
        for exit in 0..<Limits.crashLoopExits * 3 {
            let now = exit * Limits.crashLoopWindowMilliseconds / 4
            for event in [.needed, .timeIsUp, .started, .exited(.exited(0))] as [Event]
            where event != .timeIsUp || supervisor.state == .resting {
                _ = supervisor.handle(event, now: now, random: 0)
            }
            #expect(!supervisor.isCrashLooping)
        }
        for _ in 0..<Limits.crashLoopExits * 3 {
            for event in [.activate, .started, .attached, .handled, .exited(.killed(11))] as [Event] {
                _ = supervisor.handle(event, now: .max, random: 0)
            }
            #expect(!supervisor.isCrashLooping)
        }
    }
}

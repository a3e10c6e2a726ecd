import Foundation
import PostriderCourier
import PostriderKit
import PostriderNotifications
import PostriderSchedules
import PostriderSystem
import PostriderTransport
import Synchronization

@testable import PostriderAgent

/// An agent's router and app socket on their own thread, with a recorded link in place of the relay's. It can be killed
/// at any point and restarted with what it left on the disk.
final class AgentFixture: Sendable {
    /// The objects that live on the thread.
    final class Parts {
        let router: AppRouter
        let server: AppServer
        let lifecycle: AppLifecycle
        let control: AgentControlHandler
        let presenter: Presenter
        let handlers: HandlerPrograms
        let launcher = RecordedLauncher()
        let runner: ProcessLauncher
        let link = RecordedLink()
        let loop: EventLoop
        /// The agent's time. It passes only when a test says so, and not while a busy machine delays the test.
        let clock = StandingClock()
        let alarm = RecordedAlarm()
        /// Whether the end of the current turn, which makes changes durable, still comes.
        var isAlive = true

        init(
            _ state: AgentState, loop: EventLoop, aheadMilliseconds: Int64,
            answerToAll: PostriderCourier.AuthorizationStatus, manifests: [AppManifest]
        ) {
            self.loop = loop
            clock.wallMilliseconds = loop.wallMilliseconds + aheadMilliseconds
            router = AppRouter(state, declarations: [:], scheduler: clock, log: .none)
            lifecycle = AppLifecycle(
                manifests.filter { $0.handler == nil }, state: state, router: router, launcher: launcher,
                scheduler: clock, log: .none,
                random: { 0 })
            control = AgentControlHandler(state, router: router, lifecycle: lifecycle, log: .none)
            server = AppServer(
                router: router, control: control, scheduler: clock, readClock: { [clock] in clock.now },
                log: .none)
            let processes = ProcessTable(on: loop)
            runner = ProcessLauncher(processes, socketPath: "")
            presenter = Presenter(
                state, router: router, manifests: manifests, bus: nil, runner: runner, scheduler: clock,
                log: .none)
            let programs = ProgramHandlers(processes, runner)
            handlers = HandlerPrograms(
                manifests, router: router, programs: programs, units: programs, scheduler: loop, log: .none)
            router.programs = handlers
            presenter.start()
            router.presenter = presenter
            control.presenter = presenter
            router.link = link
            router.lifecycle = lifecycle
            lifecycle.start()
            handlers.start()
            router.center.alarm = alarm
            router.center.zone = { .gmt }
            router.center.answerToAll = answerToAll
            router.center.start()
        }
    }

    private let mailbox: Mailbox<@Sendable (Parts) -> Void>
    private let ended: AsyncStream<Void>

    /// Starts an agent with this state and socket.
    init(
        _ scratch: Scratch, aheadMilliseconds: Int64 = 0,
        answerToAll: PostriderCourier.AuthorizationStatus = .authorized, manifests: [AppManifest] = [],
        onHandled: @escaping @Sendable (Parts) -> Void = { _ in }
    ) throws {
        let mailbox = try Mailbox<@Sendable (Parts) -> Void>(capacity: 1000)
        let (ended, end) = AsyncStream<Void>.makeStream()
        let (state, socket) = (scratch.state, scratch.socket)
        _ = try Thread.spawn(name: "agent-fixture") {
            Self.live(state, socket, mailbox, onHandled) { state, loop in
                Parts(
                    state, loop: loop, aheadMilliseconds: aheadMilliseconds, answerToAll: answerToAll,
                    manifests: manifests)
            }
            end.finish()
        }
        self.mailbox = mailbox
        self.ended = ended
    }

    private static func live(
        _ state: String, _ socket: String, _ mailbox: Mailbox<@Sendable (Parts) -> Void>,
        _ onHandled: @escaping @Sendable (Parts) -> Void, _ makeParts: (AgentState, EventLoop) -> Parts
    ) {
        do {
            let loop = try EventLoop()
            let parts = makeParts(try AgentState(directory: state, log: .none), loop)
            try parts.server.open(SocketAddress(unixPath: socket), on: loop)
            try loop.attach(mailbox) { [unowned parts] letters in for letter in letters { letter(parts) } }
            loop.turnEnded = { [unowned parts] in
                if parts.router.hasHandled { onHandled(parts) }
                if parts.isAlive { parts.router.endTurn() }
            }
            withExtendedLifetime(parts) { loop.run() }
        } catch {
            preconditionFailure("the agent cannot be opened: \(error)")
        }
    }

    /// Runs a closure on the thread and returns its result.
    func on<Value: Sendable>(_ body: @escaping @Sendable (Parts) -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            let isPosted = mailbox.post { parts in continuation.resume(returning: body(parts)) }
            precondition(isPosted)
        }
    }

    /// Delivers a notification over the link.
    func deliver(_ deliver: Deliver) async { await on { $0.router.delivered(deliver) } }

    /// Advances the time by this many seconds, and fires the alarm if it is due.
    func pass(seconds: Int64) async {
        await on { parts in
            parts.clock.pass(milliseconds: seconds * 1000)
            guard let moment = parts.alarm.moment, moment.milliseconds <= parts.clock.wallMilliseconds else {
                return
            }
            parts.router.center.alarmRang()
        }
    }

    /// Cuts every connection and ends the thread without a further write to the disk.
    func kill() async {
        _ = mailbox.post { parts in parts.kill() }
        await hasEnded()
    }

    /// Returns when the thread has ended.
    func hasEnded() async { for await _ in ended {} }
}

extension AgentFixture.Parts {
    /// Skips the rest of this turn and all further turns.
    func kill() {
        isAlive = false
        loop.stop()
    }
}

/// An ordered record of events on other threads, for which a test can wait.
final class Journal<Event: Sendable>: Sendable {
    private struct Book {
        var events: [Event] = []
        var waiting: [(count: Int, continuation: CheckedContinuation<[Event], Never>)] = []
    }

    private let book = Mutex(Book())

    /// Adds an event.
    func note(_ event: Event) {
        let (ready, events) = book.withLock { book in
            book.events.append(event)
            let ready = book.waiting.filter { $0.count <= book.events.count }
            book.waiting.removeAll { $0.count <= book.events.count }
            return (ready, book.events)
        }
        for waiting in ready { waiting.continuation.resume(returning: events) }
    }

    /// The events so far.
    var events: [Event] { book.withLock { $0.events } }

    /// Waits for this number of events and returns them.
    func first(_ count: Int) async -> [Event] {
        await withCheckedContinuation { continuation in
            let events = book.withLock { book in
                guard book.events.count < count else { return book.events as [Event]? }
                book.waiting.append((count, continuation))
                return nil
            }
            if let events { continuation.resume(returning: events) }
        }
    }
}

extension Application {
    /// Stops the agent and waits for its end.
    func end() async {
        stop()
        await untilEnd()
    }
}

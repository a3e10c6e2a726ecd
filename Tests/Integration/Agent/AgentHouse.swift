import Foundation
import PostriderCourier
import PostriderKit
import PostriderNotifications
import PostriderSchedules
import PostriderSystem
import PostriderTransport
import Synchronization

@testable import PostriderAgent

/// An agent's desk and app socket on their own thread, with a recorded link in place of the relay's. It can be killed
/// at any point and restarted with what it left on the disk.
final class AgentHouse: Sendable {
    /// The objects that live on the thread.
    final class Rooms {
        let desk: AppRouter
        let door: AppServer
        let keeper: AppLifecycle
        let owner: AgentControlHandler
        let presenter: Presenter
        let handlers: HandlerPrograms
        let launcher = RecordedLauncher()
        let runner: ProcessLauncher
        let line = RecordedLine()
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
            desk = AppRouter(state, declarations: [:], scheduler: clock, log: .none)
            keeper = AppLifecycle(
                manifests.filter { $0.handler == nil }, state: state, desk: desk, launcher: launcher,
                scheduler: clock, log: .none,
                random: { 0 })
            owner = AgentControlHandler(state, desk: desk, keeper: keeper, log: .none)
            door = AppServer(
                desk: desk, owner: owner, scheduler: clock, readClock: { [clock] in clock.now }, log: .none)
            let processes = ProcessTable(on: loop)
            runner = ProcessLauncher(processes, socketPath: "")
            presenter = Presenter(
                state, desk: desk, manifests: manifests, line: nil, runner: runner, scheduler: clock,
                log: .none)
            let programs = ProgramHandlers(processes, runner)
            handlers = HandlerPrograms(
                manifests, desk: desk, programs: programs, units: programs, scheduler: loop, log: .none)
            desk.programs = handlers
            presenter.start()
            desk.presenter = presenter
            owner.presenter = presenter
            desk.line = line
            desk.keeper = keeper
            keeper.start()
            handlers.start()
            desk.center.alarm = alarm
            desk.center.zone = { .gmt }
            desk.center.answerToAll = answerToAll
            desk.center.start()
        }
    }

    private let mailbox: Mailbox<@Sendable (Rooms) -> Void>
    private let ended: AsyncStream<Void>

    /// Starts an agent with this state and socket.
    init(
        _ scratch: Scratch, aheadMilliseconds: Int64 = 0,
        answerToAll: PostriderCourier.AuthorizationStatus = .authorized, manifests: [AppManifest] = [],
        onHandled: @escaping @Sendable (Rooms) -> Void = { _ in }
    ) throws {
        let mailbox = try Mailbox<@Sendable (Rooms) -> Void>(capacity: 1000)
        let (ended, end) = AsyncStream<Void>.makeStream()
        let (state, socket) = (scratch.state, scratch.socket)
        _ = try Thread.spawn(name: "agent-house") {
            Self.live(state, socket, mailbox, onHandled) { state, loop in
                Rooms(
                    state, loop: loop, aheadMilliseconds: aheadMilliseconds, answerToAll: answerToAll,
                    manifests: manifests)
            }
            end.finish()
        }
        self.mailbox = mailbox
        self.ended = ended
    }

    private static func live(
        _ state: String, _ socket: String, _ mailbox: Mailbox<@Sendable (Rooms) -> Void>,
        _ onHandled: @escaping @Sendable (Rooms) -> Void, _ furnish: (AgentState, EventLoop) -> Rooms
    ) {
        do {
            let loop = try EventLoop()
            let rooms = furnish(try AgentState(directory: state, log: .none), loop)
            try rooms.door.open(SocketAddress(unixPath: socket), on: loop)
            try loop.attach(mailbox) { [unowned rooms] letters in for letter in letters { letter(rooms) } }
            loop.turnEnded = { [unowned rooms] in
                if rooms.desk.hasHandled { onHandled(rooms) }
                if rooms.isAlive { rooms.desk.endTurn() }
            }
            withExtendedLifetime(rooms) { loop.run() }
        } catch {
            preconditionFailure("the house cannot be opened: \(error)")
        }
    }

    /// Runs a closure on the thread and returns its result.
    func on<Value: Sendable>(_ body: @escaping @Sendable (Rooms) -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            let isPosted = mailbox.post { rooms in continuation.resume(returning: body(rooms)) }
            precondition(isPosted)
        }
    }

    /// Delivers a notification over the link.
    func deliver(_ deliver: Deliver) async { await on { $0.desk.delivered(deliver) } }

    /// Advances the time by this many seconds, and fires the alarm if it is due.
    func pass(seconds: Int64) async {
        await on { rooms in
            rooms.clock.pass(milliseconds: seconds * 1000)
            guard let moment = rooms.alarm.moment, moment.milliseconds <= rooms.clock.wallMilliseconds else {
                return
            }
            rooms.desk.center.alarmRang()
        }
    }

    /// Cuts every connection and ends the thread without a further write to the disk.
    func kill() async {
        _ = mailbox.post { rooms in rooms.kill() }
        await hasEnded()
    }

    /// Returns when the thread has ended.
    func hasEnded() async { for await _ in ended {} }
}

extension AgentHouse.Rooms {
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

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
    @dynamicMemberLookup
    final class Parts {
        let parts: AgentParts
        let router: AppRouter
        let server: AppServer
        let handlers: HandlerPrograms
        let launcher = RecordedLauncher()
        let runner: ProcessLauncher
        let link = RecordedLink()
        let loop: EventLoop
        /// The agent's time. It passes only when a test says so, and not while a busy machine delays the test.
        let clock = StandingClock()
        /// What the agent's alarm clock is set to.
        private(set) var alarm = AlarmSetting(moment: nil)
        private let device = Device()
        /// Whether the end of the current turn, which makes changes durable, still comes.
        var isAlive = true

        init(
            _ state: AgentState, loop: EventLoop, aheadMilliseconds: Int64,
            answerToAll: PostriderCourier.AuthorizationStatus, manifests: [AppManifest]
        ) {
            self.loop = loop
            clock.wallMilliseconds = loop.wallMilliseconds + aheadMilliseconds
            let processes = ProcessTable(on: loop)
            runner = ProcessLauncher(processes, socketPath: "")
            parts = AgentParts(
                state, declared: DeclaredApps(manifests, users: [:]),
                trouble: StateTrouble(state, scheduler: clock, log: .none),
                in: .init(
                    link: link, launcher: launcher, runner: runner, zone: { [device] in device.zone },
                    random: { 0 },
                    scheduler: clock, log: .none))
            router = AppRouter(parts, scheduler: clock)
            let programs = ProgramHandlers(processes, runner)
            handlers = HandlerPrograms(
                manifests, registrations: parts.registrations, deliveries: parts.deliveries,
                programs: programs, units: programs, scheduler: loop, log: .none)
            server = AppServer(
                router: router, system: parts.system,
                control: AgentControlHandler(
                    parts, handlers: handlers, link: link, scheduler: clock, log: .none),
                scheduler: clock, readClock: { [clock] in clock.now }, log: .none)
            parts.presenter.start()
            parts.lifecycle.start()
            handlers.start()
            parts.authorizations.answerToAll = answerToAll
            parts.center.start()
        }

        /// What the parts read of the device.
        private final class Device { var zone = ZoneRules.gmt }

        /// The clock was set by this much, and the device may have been taken to another zone.
        func clockChanged(byMilliseconds shift: Int64, zone: String) {
            device.zone = ZoneDirectory().rules(named: zone) ?? .gmt
            parts.system.clockChanged(byMilliseconds: shift)
        }

        /// The parts of the agent by name.
        subscript<Part>(dynamicMember path: KeyPath<AgentParts, Part>) -> Part { parts[keyPath: path] }

        /// Ends a turn of the loop.
        func endTurn() {
            router.endTurn()
            if let setting = parts.center.takeAlarm() { alarm = setting }
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
                if parts.deliveries.hasHandled { onHandled(parts) }
                if parts.isAlive { parts.endTurn() }
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
    func deliver(_ deliver: Deliver) async { await on { $0.deliveries.delivered(deliver) } }

    /// Advances the time by this many seconds, and fires the alarm if it is due.
    func pass(seconds: Int64) async {
        await on { parts in
            parts.clock.pass(milliseconds: seconds * 1000)
            guard let moment = parts.alarm.moment, moment.milliseconds <= parts.clock.wallMilliseconds else {
                return
            }
            parts.center.alarmRang()
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

import PostriderNotifications
public import PostriderSystem
import PostriderTransport

/// A program of the operator that the relay runs.
public struct OperatorProgram: Sendable {
    /// The program and its arguments.
    public let start: ProgramStart
    /// Returns the reason for which it cannot be started, as a sentence; nil if it can. Called before each start.
    public let mistake: @Sendable () -> String?

    /// Creates a program from its parts.
    public init(start: ProgramStart, mistake: @escaping @Sendable () -> String?) {
        self.start = start
        self.mistake = mistake
    }
}

/// Runs the operator's program for devices that connect and leave (`on-presence`), one run at a time, with a line of
/// JSON for each device on its standard input. It lives on its own thread, so that no shard ever starts a process.
final class PresenceProgram {
    private let program: OperatorProgram
    private let loop: EventLoop
    private let processes: ProcessTable
    private let log: Log
    private var debounce: PresenceDebounce
    private var run: ProgramRun?
    private lazy var timer = loop.makeTimer { [unowned self] in begin() }
    private lazy var deadline = loop.makeTimer { [unowned self] in giveUp() }

    init(
        _ program: OperatorProgram, before: [Control.DeviceEvent], on loop: EventLoop, log: Log
    ) {
        self.program = program
        self.loop = loop
        processes = ProcessTable(on: loop)
        self.log = log
        debounce = PresenceDebounce(before: before, now: Int64(loop.now / 1_000_000))
        armTimer()
    }

    private var now: Int64 { Int64(loop.now / 1_000_000) }

    /// Adds events.
    func take(_ events: [Control.DeviceEvent]) {
        for event in events { debounce.take(event, now: now) }
        armTimer()
    }

    /// Expects devices to come back whose connections to another node have ended like this.
    func expect(_ departures: [Control.DeviceEvent]) {
        for event in departures { debounce.expect(event, now: now) }
        armTimer()
    }

    /// Ends the current run, because the relay stops.
    func close() { run?.kill() }

    /// Whether a run has started and not ended.
    var isRunning: Bool { run != nil }

    private func armTimer() {
        guard run == nil, let due = debounce.nextDue else { return }
        timer.arm(afterMilliseconds: due > now ? Int(due - now) : 0)
    }

    private func begin() {
        guard run == nil else { return }
        let dropped = debounce.takeDropped()
        if dropped > 0 {
            log.warning("on-presence was not told of \(dropped) events of devices: too many came at once")
        }
        let events = debounce.takeDue(now: now)
        guard !events.isEmpty else { return armTimer() }
        if let mistake = program.mistake() { return fail(mistake) }
        var start = program.start
        start.environment["POSTRIDER_EVENTS"] = "\(events.count)"
        let input = events.flatMap { ControlHandler.answer($0).body + [UInt8(ascii: "\n")] }
        do throws(TransportError) {
            run = try processes.run(start, input: input, keeping: .tail(Limits.presenceTailBytes)) {
                [unowned self] in ended($0)
            }
            deadline.arm(afterMilliseconds: Limits.presenceProgramSeconds * 1000)
        } catch {
            fail("\(error)")
        }
    }

    private func giveUp() {
        log.warning(
            "the program of on-presence, \(program.start.path), has not ended in "
                + "\(Limits.presenceProgramSeconds) seconds and is ended", kind: "on-presence")
        run?.kill()
    }

    private func ended(_ result: ProgramResult) {
        run = nil
        deadline.disarm()
        if result.ending != .exited(0) {
            let lines = String(decoding: result.output, as: UTF8.self).split(separator: "\n")
            let last = lines.last.map { ": \(ConnectionEnds.quote(Array($0.utf8)))" } ?? ""
            log.warning(
                "the program of on-presence, \(program.start.path), \(result.ending)\(last)",
                kind: "on-presence")
        }
        armTimer()
    }

    private func fail(_ sentence: String) {
        log.error("devices that connect and leave are told nobody: \(sentence)", kind: "on-presence")
        armTimer()
    }
}

/// The thread for the operator's program: a loop with a mailbox and no sockets.
struct PresenceThread: Sendable {
    /// The messages to the thread.
    enum Message: Sendable {
        /// These events have happened.
        case events([Control.DeviceEvent])
        /// Devices that were connected to another node, with the ends of these connections, are expected here.
        case expected([Control.DeviceEvent])
        /// The relay stops.
        case close
    }

    let program: OperatorProgram
    let mailbox: Mailbox<Message>
    /// The end of each connection that was open when the relay last ran.
    let before: [Control.DeviceEvent]
    let log: Log

    /// Starts the thread.
    func start() async throws {
        try await Thread.start(name: "presence") { run($0) }
    }

    private func run(_ continuation: CheckedContinuation<Void, any Error>) {
        do {
            let loop = try EventLoop()
            let runner = PresenceProgram(program, before: before, on: loop, log: log)
            try loop.attach(mailbox) { [unowned runner, unowned loop] messages in
                for message in messages {
                    switch message {
                    case .events(let events): runner.take(events)
                    case .expected(let departures): runner.expect(departures)
                    case .close:
                        runner.close()
                        loop.stop()
                    }
                }
                messages.removeAll(keepingCapacity: true)
            }
            continuation.resume()
            withExtendedLifetime(runner) { loop.run() }
        } catch {
            continuation.resume(throwing: error)
        }
    }
}

extension LoadedStore {
    /// The end of each connection that was open when the relay last ran.
    var departures: [Control.DeviceEvent] {
        guard let run = registry.lastRun else { return [] }
        let names = Dictionary(registry.devices.map { ($0.identity, $0.name) }, uniquingKeysWith: { $1 })
        return registry.presences.filter(\.presence.isConnected).map { record in
            let presence = record.presence.after(run)
            return Control.DeviceEvent(
                what: .away, at: presence.since.milliseconds, identity: record.device.description,
                name: names[record.device] ?? "", address: presence.address, agent: presence.agent,
                ending: presence.ending?.rawValue)
        }
    }
}

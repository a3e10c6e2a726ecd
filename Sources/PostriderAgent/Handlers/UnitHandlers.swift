import FoundationEssentials
import PostriderCourier
import PostriderDBus
import PostriderNotifications
import PostriderSystem
import PostriderTransport

/// Starts systemd units as handlers: for each notification an instance of a template, whose name is the notification's
/// identity. systemd has at most one instance of a name, so a restarted agent joins a run that an earlier one began.
/// Units belong to systemd: they go on when the agent ends.
final class UnitHandlers: HandlerLauncher {
    private let bus: ReconnectingBus
    private let directory: String
    private let scheduler: any Scheduler
    private let log: Log
    private var runs: [String: UnitRun] = [:]

    fileprivate static let service = "org.freedesktop.systemd1"
    fileprivate static let path = "/org/freedesktop/systemd1"
    fileprivate static let manager = "org.freedesktop.systemd1.Manager"
    /// The longest name of a unit, in bytes (systemd.unit(5)).
    private static let nameBytes = 255

    /// - Parameter directory: where the payloads are put for the units, in a folder for each.
    init(_ bus: ReconnectingBus, directory: String, scheduler: any Scheduler, log: Log) {
        self.bus = bus
        self.directory = directory
        self.scheduler = scheduler
        self.log = log
    }

    /// Gives up the bus. Units go on.
    func stop() {
        bus.stop()
        runs = [:]
    }

    func start(
        _ handler: AppManifest.Handler, of manifest: AppManifest, for job: HandlerJob,
        ended: @escaping (ProgramResult) -> Void
    ) throws -> any AppProcess {
        let instance = "\(job.identity)".lowercased()
        let name = "\(handler.unit ?? "")@\(instance).service"
        guard name.utf8.count <= Self.nameBytes else {
            throw AgentFailure(description: "The name of the unit \(name) is longer than 255 bytes.")
        }
        guard runs[name] == nil else {
            // Two topics may have notifications of the same identity, and therefore the same unit.
            let run = UnitRun(name, bus, scheduler, ended)
            run.lose()
            return run
        }
        let run = UnitRun(name, bus, scheduler) { [weak self] result in
            self?.runs[name] = nil
            self?.remove(instance)
            ended(result)
        }
        try write(job, to: instance)
        runs[name] = run
        // A connection that is not ready yet keeps calls until it is. Without a connection, the run begins with the
        // next one.
        if bus.current != nil { run.begin() } else { bus.start { [unowned self] in receive($0) } }
        if !run.hasBegun { run.wait() }
        return run
    }

    // MARK: The payloads

    private func write(_ job: HandlerJob, to instance: String) throws {
        let folder = directory + "/" + instance
        do {
            let mode: [FileAttributeKey: Any] = [.posixPermissions: 0o700]
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: true, attributes: mode)
            try Data(job.input).write(to: URL(filePath: folder + "/payload"), options: .atomic)
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            let variables = try encoder.encode(job.variables)
            try variables.write(to: URL(filePath: folder + "/variables.json"), options: .atomic)
        } catch {
            throw AgentFailure(
                description: "The payload cannot be written to \(folder): check the folder and its disk.")
        }
    }

    private func remove(_ instance: String) {
        try? FileManager.default.removeItem(atPath: directory + "/" + instance)
    }

    // MARK: The bus

    private func receive(_ event: ReconnectingBus.Event) {
        switch event {
        case .opened(let connection): opened(connection)
        case .lost: for run in Array(runs.values) { run.lose() }
        }
    }

    private func opened(_ connection: BusConnection) {
        do {
            let ends = BusMatch(
                sender: Self.service, path: Self.path, interface: Self.manager, member: "JobRemoved")
            try connection.listen(to: ends) { [unowned self] signal in
                let arguments = signal.arguments
                guard arguments.count == 4, let name = arguments[2].text, let result = arguments[3].text,
                    case .objectPath(let job) = arguments[1]
                else { return }
                runs[name]?.removed(job, result, by: signal.sender)
            }
            let subscription = BusCall(
                Self.service, path: Self.path, interface: Self.manager, member: "Subscribe", arguments: [])
            // Without this subscription, systemd sends its signals only to those who made the call.
            try connection.call(subscription) { [weak self] in
                if case .failure(let error) = $0 {
                    self?.log.info(
                        "cannot subscribe to systemd's signals: \(error)", kind: "systemd subscription")
                }
            }
            for run in Array(runs.values) { run.begin() }
        } catch {
            log.error("\(error)", kind: "\(error)")
        }
    }
}

/// One run of a unit: a job of systemd and its result.
private final class UnitRun: AppProcess {
    let identifier: Int32 = 0
    let startedAt: UInt64 = 0
    private let name: String
    private let bus: ReconnectingBus
    private var ended: ((ProgramResult) -> Void)?
    /// The job; nil until systemd has answered.
    private var job: String?
    /// The unique bus name of the answer's sender. Signals of others are ignored, because anybody can send one.
    private var manager = ""
    private var timer: (any LoopTimer)?

    /// Milliseconds that a unit waits for the bus.
    private static let patienceMilliseconds = 5000

    init(
        _ name: String, _ bus: ReconnectingBus, _ scheduler: any Scheduler,
        _ ended: @escaping (ProgramResult) -> Void
    ) {
        self.name = name
        self.bus = bus
        self.ended = ended
        timer = scheduler.makeTimer { [weak self] in
            self?.end(.exited(HandlerRun.temporaryFailure), "systemd does not answer on the system's bus")
        }
    }

    /// Whether systemd was asked to start the unit.
    private(set) var hasBegun = false

    /// Waits for the bus, for a bounded time.
    func wait() { timer?.arm(afterMilliseconds: Self.patienceMilliseconds) }

    /// The connection to the bus is gone, so the result of the run is unknown: it is tried again later.
    func lose() { timer?.arm(afterMilliseconds: 0) }

    func terminate() { call("StopUnit", [.string(name), .string("replace")]) { _ in } }

    func kill() {
        call("KillUnit", [.string(name), .string("all"), .int32(9)]) { _ in }
        end(.unknown, "")
    }

    /// Has the unit started. If it runs already, systemd does not start it twice, and its job is this run's.
    func begin() {
        guard ended != nil, !hasBegun else { return }
        hasBegun = true
        timer?.disarm()
        call("StartUnit", [.string(name), .string("fail")]) { [weak self] result in
            switch result {
            case .success(let reply):
                if case .objectPath(let job)? = reply.values.first {
                    self?.isStarted(as: job, by: reply.sender)
                }
            case .failure(.lost), .failure(.timedOut), .failure(.overloaded): self?.lose()
            case .failure(let error): self?.end(.exited(1), "\(error)")
            }
        }
    }

    private func isStarted(as job: String, by manager: String) {
        (self.job, self.manager) = (job, manager)
    }

    /// A job of the unit has ended. systemd says so after it has answered the call that began the job.
    func removed(_ job: String, _ result: String, by sender: String) {
        guard job == self.job, sender == manager else { return }
        // A unit whose condition does not hold is skipped, as its author intended.
        guard result != "done", result != "skipped" else { return end(.exited(0), "") }
        call("GetUnit", [.string(name)]) { [weak self] reply in
            guard case .success(let reply) = reply, case .objectPath(let unit)? = reply.values.first
            else {
                self?.end(.unknown, "systemd says: \(result)")
                return
            }
            self?.ask(unit, result)
        }
    }

    /// Asks how the unit's program has ended.
    private func ask(_ unit: String, _ result: String) {
        let arguments: [BusValue] = [.string("org.freedesktop.systemd1.Service")]
        let members = BusCall(
            UnitHandlers.service, path: unit, interface: "org.freedesktop.DBus.Properties",
            member: "GetAll",
            arguments: arguments)
        send(members) { [weak self] reply in
            let values = (try? reply.get())?.values.first?.namedValues ?? [:]
            let status = values["ExecMainStatus"]?.integer.map { Int32(truncatingIfNeeded: $0) }
            let ending: ProcessEnding =
                switch (values["ExecMainCode"]?.integer, status) {
                // CLD_EXITED, CLD_KILLED and CLD_DUMPED of sigaction(2).
                case (1, let status?): .exited(status == 0 ? 1 : status)
                case (2, let status?), (3, let status?): .killed(status)
                default: .unknown
                }
            guard let self else { return }
            // Otherwise systemd keeps a failed unit in memory.
            call("ResetFailedUnit", [.string(name)]) { _ in }
            end(ending, "systemd says: \(result)")
        }
    }

    private func call(
        _ member: String, _ arguments: [BusValue],
        _ receive: @escaping (Result<BusReply, BusError>) -> Void
    ) {
        send(
            BusCall(
                UnitHandlers.service, path: UnitHandlers.path, interface: UnitHandlers.manager,
                member: member, arguments: arguments), receive)
    }

    private func send(_ call: BusCall, _ receive: @escaping (Result<BusReply, BusError>) -> Void) {
        guard let connection = bus.current else { return lose() }
        do throws(BusError) {
            try connection.call(call, receive)
        } catch {
            lose()
        }
    }

    private func end(_ ending: ProcessEnding, _ words: String) {
        timer?.disarm()
        guard let ended else { return }
        self.ended = nil
        ended(ProgramResult(ending: ending, output: Array(words.utf8)))
    }
}

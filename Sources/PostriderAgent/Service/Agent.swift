import PostriderClients
public import PostriderNotifications
import PostriderSystem
import PostriderTLS
import PostriderTransport
import Synchronization

/// A running agent: one thread, with the link to the relay on one side and the apps of the device on the other.
///
///     relay ═ DeviceClient ═ RelayLink ─▶ AppRouter ─▶ AppStream ═ AppSession ═ app
///                                            └─ AgentState (SQLite)
public final class Agent: Sendable {
    private let mailbox: Mailbox<Message>
    private let ending: Ending

    fileprivate enum Message: Sendable {
        case stop
        case reload(AgentConfiguration, CheckedContinuation<String, Never>)
        case answer(CheckedContinuation<Void, Never>)
        case measure(@Sendable (Result<AgentControl.Status, StoreError>) -> Void)
    }

    private init(_ mailbox: Mailbox<Message>, _ ending: Ending) {
        self.mailbox = mailbox
        self.ending = ending
    }

    /// Starts an agent. Its state is open and apps can connect when this returns; the link comes when the relay is
    /// there.
    ///
    /// - Throws: `CryptoError`, `TransportError`, ``Notifications/StoreError`` or ``AgentFailure``, each one sentence.
    public static func start(_ configuration: AgentConfiguration, log: Log) async throws -> Agent {
        let tls = try TLSContext.client(trustFile: configuration.trustFile, alpn: ["h2"])
        let relays = configuration.relays.map {
            Server($0, tls: tls, name: configuration.serverName, through: configuration.proxy)
        }
        let mailbox = try Mailbox<Message>(capacity: 16)
        let ending = Ending()
        try await Thread.start(name: "agent") { started in
            run(configuration, relays, mailbox, ending, log, started)
            ending.threadEnded()
        }
        return Agent(mailbox, ending)
    }

    /// The thread.
    private static func run(
        _ configuration: AgentConfiguration, _ relays: [Server], _ mailbox: Mailbox<Message>,
        _ ending: Ending, _ log: Log, _ started: CheckedContinuation<Void, any Error>
    ) {
        do {
            let loop = try EventLoop()
            let agent = try AgentLoop(configuration, relays: relays, on: loop, log: log) { ending.failed($0) }
            try loop.attach(mailbox) { [unowned agent] messages in
                for message in messages { receive(message, agent) }
            }
            loop.turnEnded = { [unowned agent] in agent.endTurn() }
            agent.start()
            started.resume()
            withExtendedLifetime(agent) { loop.run() }
        } catch {
            started.resume(throwing: error)
        }
    }

    private static func receive(_ message: Message, _ agent: AgentLoop) {
        switch message {
        case .stop: agent.stop()
        case .reload(let configuration, let done): done.resume(returning: agent.reload(configuration))
        case .answer(let done): done.resume()
        case .measure(let respond): respond(agent.status)
        }
    }

    /// Takes the settings that can change while the agent runs: the declared apps, their users and manifests; the
    /// answer to apps that ask to notify; the number of delivery attempts; the user of the keyboard. All other settings
    /// stay as they were at the start.
    ///
    /// - Returns: what has changed, as one phrase for the log.
    public func reload(_ configuration: AgentConfiguration) async -> String {
        await withCheckedContinuation { mailbox.postEvenIfFull(.reload(configuration, $0)) }
    }

    /// Returns when the agent's loop has made a turn; never if the loop hangs.
    public func answer() async {
        await withCheckedContinuation { mailbox.postEvenIfFull(.answer($0)) }
    }

    /// Asks the agent's loop for its status, for metrics. A loop that hangs never answers.
    ///
    /// - Parameter respond: called once, on the agent's thread.
    public func measure(
        _ respond: @escaping @Sendable (Result<AgentControl.Status, StoreError>) -> Void
    ) {
        mailbox.postEvenIfFull(.measure(respond))
    }

    /// Stops in good order: the relay gets a goodbye, and apps lose their connection. Everything that was acknowledged
    /// is on the disk already.
    public func stop() async {
        mailbox.postEvenIfFull(.stop)
        _ = await ending.result()
    }

    /// Returns when the agent has been stopped.
    ///
    /// - Throws: ``AgentFailure`` if it could not go on, which has been logged.
    public func untilEnd() async throws(AgentFailure) { try await ending.result().get() }
}

/// Holds how an agent ended, for whoever waits for that.
private final class Ending: Sendable {
    private struct State {
        var failure: AgentFailure?
        var result: Result<Void, AgentFailure>?
        var waiting: [CheckedContinuation<Result<Void, AgentFailure>, Never>] = []
    }

    private let state = Mutex(State())

    func failed(_ failure: AgentFailure) { state.withLock { $0.failure = $0.failure ?? failure } }

    func threadEnded() {
        let (result, waiting) = state.withLock { state in
            let result: Result<Void, AgentFailure> = state.failure.map { .failure($0) } ?? .success(())
            state.result = result
            defer { state.waiting = [] }
            return (result, state.waiting)
        }
        for continuation in waiting { continuation.resume(returning: result) }
    }

    func result() async -> Result<Void, AgentFailure> {
        await withCheckedContinuation { continuation in
            let result = state.withLock { state in
                if state.result == nil { state.waiting.append(continuation) }
                return state.result
            }
            if let result { continuation.resume(returning: result) }
        }
    }
}

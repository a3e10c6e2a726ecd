import FoundationEssentials
import PostriderEvidence
import PostriderHTTP2
import PostriderNotifications

/// Answers the operator's requests, on shard 0, or finds the routes that do.
final class ControlHandler {
    typealias Answer = ControlAnswer
    typealias Respond = (Answer) -> Void

    let context: ShardContext
    let changes: RegistryChanges
    let queries: ShardQueries
    let access: AccessRoutes
    let devices: DeviceRoutes
    private let evidence: EvidenceRoutes
    /// Captures requests and applies rules to pushes; nil on a relay in production.
    let bench: TestBench?
    /// Callers that wait for captures.
    let captureWaiters: CaptureWaiters?
    /// Programs that follow the events of devices.
    let events: DeviceEventFeed
    /// Answers requests about the nodes of a cluster; nil without a cluster.
    private let nodes: NodeRoutes?
    /// Makes links to sign in to the console; nil if it is off.
    let console: ConsoleRoutes?
    /// The figures that consoles plot; nil if there is neither a console nor a cluster, whose nodes may have one.
    let history: StatusHistory?

    /// A handler for what the registry held at start-up.
    init(
        _ registry: Registry, _ context: ShardContext, _ changes: RegistryChanges, _ queries: ShardQueries,
        _ bench: TestBench? = nil, _ captureWaiters: CaptureWaiters? = nil,
        _ directory: DeviceDirectory? = nil, signer: EvidenceSigner? = nil, console: ConsoleRoutes? = nil,
        history: StatusHistory? = nil, nodes: NodeRoutes? = nil
    ) {
        self.context = context
        self.changes = changes
        self.queries = queries
        self.bench = bench
        self.captureWaiters = captureWaiters
        self.console = console
        self.history = history
        self.nodes = nodes
        let directory = directory ?? DeviceDirectory(context, changes, PresenceExchange())
        events = directory.events
        events.join(queries.nodes)
        access = AccessRoutes(registry, context, changes, queries.nodes)
        devices = DeviceRoutes(context, changes, queries, directory)
        evidence = EvidenceRoutes(
            context, directory, signer ?? EvidenceSigner(name: ""), queries.nodes)
        queries.nodes.own.source = { [weak self] question, respond in
            guard let self else { return respond(Self.refusal(503, "This node is about to end.")) }
            answerAlone(question, respond)
        }
    }

    /// Answers one request. `respond` is called once: now, or when the ledger or the shards have answered.
    func handle(_ method: String, _ path: String, body: [UInt8], respond: @escaping (Answer) -> Void) {
        let (path, query) = Self.parted(path)
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst().map(String.init)
        let isEvidence = parts.count == 4 && parts[1] == "pushes" && parts[3] == "evidence"
        guard parts.first == "v1", (2...3).contains(parts.count) || isEvidence else {
            respond(Self.refusal(404, "There is no \(path) on the control socket."))
            return
        }
        let name = parts.count > 2 ? parts[2] : nil
        switch (method, parts[1], name) {
        case ("GET", "status", nil): status(query, respond)
        case ("GET", "trace", nil): trace(query, respond)
        case ("GET", "pushes", let name?) where isEvidence: evidence.state(name, respond)
        case ("GET", "pushes", let name?): pushState(name, query, respond)
        case ("GET", "evidence-key", nil): evidence.showKey(respond)
        case ("PUT", "backup", nil): backUp(body, respond)
        case ("GET", "captures", nil): captures(query, respond)
        case ("DELETE", "captures", nil), ("GET", "rules", nil), ("PUT", "rules", nil):
            handleBench(method, parts[1], body, respond)
        case ("PUT", "console-links", let name?): makeConsoleLink(name, body, respond)
        case ("GET", "history", nil): showHistory(respond)
        case ("GET", "channels", nil): ChannelRoutes(queries: queries).list(query, respond)
        case ("GET", "nodes", nil), ("PUT", "drained-nodes", _?):
            guard let nodes else { return respond(Self.refusal(404, Self.notANode)) }
            nodes.handle(drain: name, respond)
        case (_, "devices", _) where devices.handle(method, name, query, body, respond): break
        case _ where access.handle(method, parts[1], name, body: body, respond): break
        default: respond(Self.refusal(404, "There is no \(method) \(path) on the control socket."))
        }
    }

    /// Splits a path into the path itself and its query.
    private static func parted(_ path: String) -> (path: Substring, query: Substring) {
        guard let mark = path.firstIndex(of: "?") else { return (path[...], "") }
        return (path[..<mark], path[path.index(after: mark)...])
    }

    private static let notANode =
        "This relay is not a node of a cluster: set cluster-address, and a store that several nodes share."

    static func answer(_ value: some Encodable) -> Answer {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(value) else {
            preconditionFailure("control messages are plain values")
        }
        return ControlAnswer(200, Array(data))
    }

    static func refusal(_ status: Int, _ sentence: String) -> Answer {
        ControlAnswer(status, answer(Control.Refusal(sentence: sentence)).body)
    }
}

extension Control {
    /// Describes the names that ``isName(_:)`` allows.
    static let nameWords = "1 to 64 letters, digits, dots, dashes and underscores"

    /// Whether a text can be the name of a team or a key: Apple's ten characters, or an operator's own short name.
    public static func isName(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy { $0.isLetterOrDigit || ".-_".utf8.contains($0) }
    }
}

import FoundationEssentials
import PostriderCrypto
import PostriderHTTP2
import PostriderNotifications

/// Answers the operator's requests. It lives on shard 0 and is the only writer of the ``AccessPolicy`` that every shard
/// has: a change is first made durable, and then a new policy goes to all shards.
final class ControlHandler {
    /// A status and a JSON body.
    typealias Answer = (status: Int, body: [UInt8])
    typealias Respond = (Answer) -> Void

    let context: ShardContext
    let changes: RegistryChanges
    private let queries: ShardQueries
    /// Captures requests and applies rules to pushes; nil on a relay in production.
    let bench: TestBench?
    /// Callers that wait for captures.
    let captureWaiters: CaptureWaiters?
    var providerKeys: [String: ProviderKeyRecord]
    private var topics: [Topic: TopicRecord]
    private var enrolmentKeys: [String: EnrolmentKeyRecord]
    private var generation: UInt64
    /// Whether the ledger is making a change durable.
    private var isChanging = false
    /// Requests for changes that arrived meanwhile. Their number is bounded by the streams of a connection.
    private var waiting: [(ControlHandler) -> Void] = []

    /// A handler for what the registry held at start-up.
    init(
        _ registry: Registry, _ context: ShardContext, _ changes: RegistryChanges, _ queries: ShardQueries,
        _ bench: TestBench? = nil, _ captureWaiters: CaptureWaiters? = nil
    ) {
        self.context = context
        self.changes = changes
        self.queries = queries
        self.bench = bench
        self.captureWaiters = captureWaiters
        providerKeys = Dictionary(registry.providerKeys.map { ($0.identifier, $0) }, uniquingKeysWith: { $1 })
        topics = Dictionary(registry.topics.map { ($0.topic, $0) }, uniquingKeysWith: { $1 })
        enrolmentKeys = Dictionary(registry.enrolmentKeys.map { ($0.name, $0) }, uniquingKeysWith: { $1 })
        generation = context.policy.generation
    }

    /// Answers one request. `respond` is called once: now, or when the ledger or the shards have answered.
    func handle(_ method: String, _ path: String, body: [UInt8], respond: @escaping (Answer) -> Void) {
        let (path, query) = Self.parted(path)
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst().map(String.init)
        guard parts.first == "v1", (2...3).contains(parts.count) else {
            respond(Self.refusal(404, "There is no \(path) on the control socket."))
            return
        }
        let name = parts.count == 3 ? parts[2] : nil
        switch (method, parts[1], name) {
        case ("GET", "status", nil): status(respond)
        case ("GET", "trace", nil): trace(query, respond)
        case ("GET", "pushes", let name?): pushState(name, query, respond)
        case ("GET", "keys", nil): listProviderKeys(respond)
        case ("PUT", "keys", let name?): inTurn { $0.putProviderKey(name, body, respond) }
        case ("DELETE", "keys", let name?): inTurn { $0.removeProviderKey(name, respond) }
        case ("PUT", "revoked-keys", let name?): inTurn { $0.revokeProviderKey(name, respond) }
        case ("GET", "topics", nil): listTopics(respond)
        case ("PUT", "topics", let name?): inTurn { $0.putTopic(name, body, respond) }
        case ("DELETE", "topics", let name?): inTurn { $0.removeTopic(name, respond) }
        case ("GET", "enrolment-keys", nil): listEnrolmentKeys(respond)
        case ("PUT", "enrolment-keys", let name?): inTurn { $0.putEnrolmentKey(name, respond) }
        case ("DELETE", "enrolment-keys", let name?): inTurn { $0.removeEnrolmentKey(name, respond) }
        case ("PUT", "backup", nil): backUp(body, respond)
        case ("GET", "captures", nil): captures(query, respond)
        case ("DELETE", "captures", nil): removeCaptures(respond)
        case ("GET", "rules", nil): listRules(respond)
        case ("PUT", "rules", nil): putRules(body, respond)
        case ("GET", "devices", nil): listDevices(respond)
        case ("DELETE", "devices", let name?): removeDevice(name, respond)
        default: respond(Self.refusal(404, "There is no \(method) \(path) on the control socket."))
        }
    }

    /// Splits a path into the path itself and its query.
    private static func parted(_ path: String) -> (path: Substring, query: Substring) {
        guard let mark = path.firstIndex(of: "?") else { return (path[...], "") }
        return (path[..<mark], path[path.index(after: mark)...])
    }

    // MARK: Topics

    private func listTopics(_ respond: Respond) {
        let topics = topics.values.sorted { $0.topic.text < $1.topic.text }
        respond(
            Self.answer(
                topics.map {
                    Control.Topic(topic: $0.topic.text, team: $0.team, takesBroadcasts: $0.takesBroadcasts)
                }))
    }

    private func putTopic(_ text: String, _ body: [UInt8], _ respond: @escaping Respond) {
        guard let addition = try? JSONDecoder().decode(Control.TopicAddition.self, from: Data(body)),
            let topic = Topic(text), Self.isName(addition.team)
        else {
            respond(
                Self.refusal(400, "A topic is a bundle identifier, and its team \(Self.nameWords)."))
            return
        }
        let record = TopicRecord(
            topic: topic, team: addition.team, takesBroadcasts: addition.takesBroadcasts ?? true)
        change(.putTopic(record), respond) { $0.topics[topic] = record }
    }

    private func removeTopic(_ text: String, _ respond: @escaping Respond) {
        guard let topic = Topic(text), topics[topic] != nil else {
            respond(Self.refusal(404, "There is no topic \(text)."))
            return
        }
        change(.removeTopic(topic), respond) { $0.topics[topic] = nil }
    }

    // MARK: Enrolment keys

    private func listEnrolmentKeys(_ respond: Respond) {
        let keys = enrolmentKeys.values.sorted { $0.name < $1.name }
        respond(
            Self.answer(keys.map { Control.EnrolmentKey(name: $0.name, addedAt: $0.addedAt.milliseconds) })
        )
    }

    private func putEnrolmentKey(_ name: String, _ respond: @escaping Respond) {
        guard Self.isName(name) else {
            respond(
                Self.refusal(400, "An enrolment key's name is \(Self.nameWords)."))
            return
        }
        guard enrolmentKeys[name] == nil else {
            respond(
                Self.refusal(
                    409, "There is an enrolment key \(name) already: remove it, or take another name."))
            return
        }
        let key = EnrolmentKey.draw(context.random)
        let record = EnrolmentKeyRecord(name: name, digest: EnrolmentKey.digest(key), addedAt: context.now)
        let answer = Self.answer(Control.NewEnrolmentKey(name: name, key: key))
        change(.putEnrolmentKey(record), respond, answer) { $0.enrolmentKeys[name] = record }
    }

    private func removeEnrolmentKey(_ name: String, _ respond: @escaping Respond) {
        guard enrolmentKeys[name] != nil else {
            respond(Self.refusal(404, "There is no enrolment key \(name)."))
            return
        }
        change(.removeEnrolmentKey(name: name), respond) { $0.enrolmentKeys[name] = nil }
    }

    // MARK: All shards

    private func status(_ respond: @escaping Respond) {
        queries.ask(.tally) { [context] replies in
            var reports: [ShardReport] = []
            for case .tally(let report) in replies { reports.append(report) }
            respond(Self.answer(Control.Status(reports, trace: context.trace.missing)))
        }
    }

    private func listDevices(_ respond: @escaping Respond) {
        queries.ask(.devices) { replies in
            var devices: [DeviceReport] = []
            for case .devices(let some) in replies { devices += some }
            devices.sort {
                ($0.record.enrolledAt, $0.record.identity.high) < (
                    $1.record.enrolledAt, $1.record.identity.high
                )
            }
            respond(Self.answer(devices.map(Control.Device.init)))
        }
    }

    private func removeDevice(_ text: String, _ respond: @escaping Respond) {
        guard let identity = DeviceIdentity(hex: text) else {
            respond(Self.refusal(400, "A device identity has 24 hexadecimal digits."))
            return
        }
        changes.apply([.removeDevice(identity)]) { [queries] result in
            if case .failure(let error) = result {
                respond(Self.refusal(503, error.description))
                return
            }
            queries.ask(.remove(identity)) { replies in
                let wasThere = replies.contains { if case .removed(true) = $0 { true } else { false } }
                respond(wasThere ? (200, Array("{}".utf8)) : Self.refusal(404, "There is no device \(text)."))
            }
        }
    }

    // MARK: Changes

    /// Runs a request for a change after the one before it has ended, so that it is checked against the result.
    private func inTurn(_ request: @escaping (ControlHandler) -> Void) {
        guard isChanging else { return request(self) }
        waiting.append(request)
    }

    private func changed() {
        isChanging = false
        while !isChanging, !waiting.isEmpty { waiting.removeFirst()(self) }
    }

    /// Makes a change durable, tells every shard, then answers. Called from ``inTurn(_:)``.
    func change(
        _ change: RegistryChange,
        _ respond: @escaping Respond,
        _ answer: Answer = (200, Array("{}".utf8)),
        _ update: @escaping (ControlHandler) -> Void
    ) {
        isChanging = true
        changes.apply([change]) { [unowned self] result in
            defer { changed() }
            if case .failure(let error) = result {
                respond(Self.refusal(503, error.description))
                return
            }
            update(self)
            generation += 1
            let policy = AccessPolicy(
                generation: generation,
                providerKeys: Array(providerKeys.values),
                topics: Array(topics.values),
                enrolmentKeys: Array(enrolmentKeys.values),
                log: context.log
            )
            context.replacePolicy(policy)
            respond(answer)
        }
    }

    static func answer(_ value: some Encodable) -> Answer {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(value) else {
            preconditionFailure("control messages are plain values")
        }
        return (200, Array(data))
    }

    static func refusal(_ status: Int, _ sentence: String) -> Answer {
        (status, answer(Control.Refusal(sentence: sentence)).body)
    }

    /// Describes the names that ``isName(_:)`` allows.
    static let nameWords = "1 to 64 letters, digits, dots, dashes and underscores"

    /// Team and key identifiers are Apple's ten characters or an operator's own short name.
    static func isName(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "."), UInt8(ascii: "-"),
                    UInt8(ascii: "_"):
                    true
                default: false
                }
            }
    }
}

import FoundationEssentials
import PostriderCluster
import PostriderCrypto
import PostriderNotifications
import PostriderProviderAPI

/// Answers the operator's requests about provider keys, topics and enrolment keys. It lives on shard 0 and is the only
/// writer of the ``AccessPolicy`` that every shard has: a change is first made durable, and then a new policy goes to
/// all shards.
final class AccessRoutes {
    typealias Answer = ControlHandler.Answer
    typealias Respond = ControlHandler.Respond

    let context: ShardContext
    private let changes: RegistryChanges
    private let nodes: NodeQueries
    var providerKeys: [String: ProviderKeyRecord] = [:]
    private var topics: [Topic: TopicRecord] = [:]
    private var enrolmentKeys: [String: EnrolmentKeyRecord] = [:]
    var sendTokens: [String: SendTokenRecord] = [:]
    private var generation: UInt64
    /// Whether the ledger is making a change durable.
    private var isChanging = false
    /// Whether the changes of other nodes are going to be read.
    private var isRenewing = false
    /// Requests for changes that arrived meanwhile. Their number is bounded by the streams of a connection.
    private var waiting: [(AccessRoutes) -> Void] = []

    /// Routes for what the registry held at start-up.
    init(
        _ registry: Registry, _ context: ShardContext, _ changes: RegistryChanges, _ nodes: NodeQueries
    ) {
        self.context = context
        self.changes = changes
        self.nodes = nodes
        generation = context.policy.generation
        take(registry)
        changes.whenSharedChanged = { [unowned self] version in
            guard !isRenewing else { return }
            isRenewing = true
            inTurn { access in
                access.renew { hasRead in if hasRead { access.changes.whenRead?(version) } }
            }
        }
    }

    private func take(_ registry: Registry) {
        providerKeys = Dictionary(registry.providerKeys.map { ($0.identifier, $0) }, uniquingKeysWith: { $1 })
        topics = Dictionary(registry.topics.map { ($0.topic, $0) }, uniquingKeysWith: { $1 })
        enrolmentKeys = Dictionary(registry.enrolmentKeys.map { ($0.name, $0) }, uniquingKeysWith: { $1 })
        sendTokens = Dictionary(registry.sendTokens.map { ($0.name, $0) }, uniquingKeysWith: { $1 })
        context.enrolmentUses.learn(registry.enrolmentKeys)
    }

    /// Answers a request. Returns false if the request is about something else.
    func handle(
        _ method: String, _ kind: String, _ name: String?, body: [UInt8], _ respond: @escaping Respond
    ) -> Bool {
        switch (method, kind, name) {
        case ("GET", "keys", nil): listProviderKeys(respond)
        case ("PUT", "keys", let name?): inTurn { $0.putProviderKey(name, body, respond) }
        case ("DELETE", "keys", let name?): inTurn { $0.removeProviderKey(name, respond) }
        case ("PUT", "revoked-keys", let name?): inTurn { $0.revokeProviderKey(name, respond) }
        case ("GET", "topics", nil): listTopics(respond)
        case ("PUT", "topics", let name?): inTurn { $0.putTopic(name, body, respond) }
        case ("DELETE", "topics", let name?): inTurn { $0.removeTopic(name, respond) }
        case ("GET", "enrolment-keys", nil): listEnrolmentKeys(respond)
        case ("PUT", "enrolment-keys", let name?): inTurn { $0.putEnrolmentKey(name, body, respond) }
        case ("DELETE", "enrolment-keys", let name?): inTurn { $0.removeEnrolmentKey(name, respond) }
        case ("GET", "send-tokens", nil): listSendTokens(respond)
        case ("PUT", "send-tokens", let name?): inTurn { $0.putSendToken(name, body, respond) }
        case ("DELETE", "send-tokens", let name?): inTurn { $0.removeSendToken(name, respond) }
        default: return false
        }
        return true
    }

    // MARK: Topics

    private func listTopics(_ respond: Respond) {
        let topics = topics.values.sorted { $0.topic.text < $1.topic.text }
        respond(
            ControlHandler.answer(
                topics.map {
                    Control.Topic(topic: $0.topic.text, team: $0.team, takesBroadcasts: $0.takesBroadcasts)
                }))
    }

    private func putTopic(_ text: String, _ body: [UInt8], _ respond: @escaping Respond) {
        guard let addition = try? JSONDecoder().decode(Control.TopicAddition.self, from: Data(body)),
            let topic = Topic(text), Control.isName(addition.team)
        else {
            respond(
                ControlHandler.refusal(
                    400, "A topic is a bundle identifier, and its team \(Control.nameWords)."))
            return
        }
        let record = TopicRecord(
            topic: topic, team: addition.team, takesBroadcasts: addition.takesBroadcasts ?? true)
        change(.putTopic(record), respond) { $0.topics[topic] = record }
    }

    private func removeTopic(_ text: String, _ respond: @escaping Respond) {
        guard let topic = Topic(text), topics[topic] != nil else {
            respond(ControlHandler.refusal(404, "There is no topic \(text)."))
            return
        }
        change(.removeTopic(topic), respond) { $0.topics[topic] = nil }
    }

    // MARK: Enrolment keys

    private func listEnrolmentKeys(_ respond: Respond) {
        let keys = enrolmentKeys.values.sorted { $0.name < $1.name }
        respond(
            ControlHandler.answer(
                keys.map {
                    Control.EnrolmentKey(
                        name: $0.name, addedAt: $0.addedAt.milliseconds,
                        tags: $0.tags.isEmpty ? nil : $0.tags.map(\.text),
                        endsAt: $0.endsAt?.milliseconds, uses: $0.uses,
                        used: context.enrolmentUses.count(of: $0.digest), namePattern: $0.namePattern)
                })
        )
    }

    private func putEnrolmentKey(_ name: String, _ body: [UInt8], _ respond: @escaping Respond) {
        guard Control.isName(name) else {
            respond(
                ControlHandler.refusal(400, "An enrolment key's name is \(Control.nameWords)."))
            return
        }
        guard enrolmentKeys[name] == nil else {
            respond(
                ControlHandler.refusal(
                    409, "There is an enrolment key \(name) already: remove it, or take another name."))
            return
        }
        let addition =
            body.isEmpty
            ? Control.EnrolmentKeyAddition()
            : try? JSONDecoder().decode(Control.EnrolmentKeyAddition.self, from: Data(body))
        let words = addition?.tags ?? []
        let tags = Set(words.compactMap(DeviceTag.init)).sorted()
        guard addition != nil, Set(words).count == tags.count, tags.count <= Limits.tagsPerDevice else {
            respond(
                ControlHandler.refusal(
                    400,
                    "An enrolment key gives devices at most \(Limits.tagsPerDevice) tags, each of "
                        + "\(DeviceTag.rule)."
                ))
            return
        }
        let pattern = addition?.namePattern
        guard addition?.uses.map({ (1...1_000_000).contains($0) }) ?? true,
            pattern.map({ (1...Limits.courierTextBytes).contains($0.utf8.count) }) ?? true,
            addition?.endsAt.map({ $0 > context.now.milliseconds }) ?? true
        else {
            respond(
                ControlHandler.refusal(
                    400,
                    "An enrolment key has from 1 to 1000000 uses, an end that has not passed, and a name "
                        + "pattern of at most \(Limits.courierTextBytes) bytes."))
            return
        }
        let key = EnrolmentKey.draw(context.random)
        let record = EnrolmentKeyRecord(
            name: name, digest: EnrolmentKey.digest(key), addedAt: context.now, tags: tags,
            endsAt: addition?.endsAt.map { Moment(milliseconds: $0) }, uses: addition?.uses,
            namePattern: pattern)
        let answer = ControlHandler.answer(Control.NewEnrolmentKey(name: name, key: key))
        change(.putEnrolmentKey(record), respond, answer) { $0.enrolmentKeys[name] = record }
    }

    private func removeEnrolmentKey(_ name: String, _ respond: @escaping Respond) {
        guard let key = enrolmentKeys[name] else {
            respond(ControlHandler.refusal(404, "There is no enrolment key \(name)."))
            return
        }
        change(.removeEnrolmentKey(name: name), respond) {
            $0.enrolmentKeys[name] = nil
            $0.context.enrolmentUses.forget(key)
        }
    }

    // MARK: Changes

    /// Runs a request for a change after the one before it has ended, so that it is checked against the result.
    private func inTurn(_ request: @escaping (AccessRoutes) -> Void) {
        guard isChanging else { return request(self) }
        waiting.append(request)
    }

    private func changed() {
        isChanging = false
        while !isChanging, !waiting.isEmpty { waiting.removeFirst()(self) }
    }

    /// Makes a change durable, tells every shard and every other node of the cluster, then answers. Called from
    /// ``inTurn(_:)``.
    func change(
        _ change: RegistryChange,
        _ respond: @escaping Respond,
        _ answer: Answer = .done,
        _ update: @escaping (AccessRoutes) -> Void
    ) {
        isChanging = true
        changes.apply([change]) { [unowned self] result in
            defer { changed() }
            if case .failure(let error) = result {
                respond(ControlHandler.refusal(503, error.description))
                return
            }
            update(self)
            publish()
            nodes.askOthers(.readAccess) { respond(Self.answer(answer, $0)) }
        }
    }

    /// The answer to a change that the other nodes have read, or not.
    private static func answer(_ answer: Answer, _ others: NodeAnswers) -> Answer {
        // A node that could not read it has refused.
        let missing = others.read(as: [String: String].self).missing
        guard !missing.isEmpty else { return answer }
        var answer = answer
        let names = missing.map(\.text).joined(separator: ", ")
        answer.gap =
            "The change is stored, and these nodes have not confirmed that they have it: \(names). They "
            + "read it when they reach the database."
        return answer
    }

    /// Another node has changed what every node has, and waits until it is in force here.
    func readAgain(_ respond: @escaping Respond) {
        inTurn { access in
            access.renew { hasRead in
                respond(hasRead ? .done : ControlHandler.refusal(503, "The change could not be read."))
            }
        }
    }

    /// Other nodes have changed what every node has: reads it again. It is read between two changes of this node, so
    /// that none of them is overwritten. If that fails, the node's thread asks again.
    private func renew(then: @escaping (Bool) -> Void) {
        isChanging = true
        changes.readShared { [unowned self] result in
            defer { changed() }
            isRenewing = false
            switch result {
            case .success(let registry):
                take(registry)
                publish()
                then(true)
            case .failure(let error):
                context.log.warning(
                    "the changes of other nodes are not read: \(error)", kind: "shared registry")
                then(false)
            }
        }
    }

    /// Gives every shard a policy of the present records.
    private func publish() {
        generation += 1
        let policy = AccessPolicy(
            generation: generation,
            providerKeys: Array(providerKeys.values),
            topics: Array(topics.values),
            enrolmentKeys: Array(enrolmentKeys.values),
            sendTokens: Array(sendTokens.values),
            log: context.log
        )
        context.replacePolicy(policy)
    }
}

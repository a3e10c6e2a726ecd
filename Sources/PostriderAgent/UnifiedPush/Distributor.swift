import PostriderCourier
import PostriderDBus
import PostriderNotifications
import PostriderStorage
import PostriderTransport

/// The UnifiedPush distributor of a user's session (specification DBUS_0.3.0): apps register with it over the session
/// bus, it registers them at the relay for Web Push, and passes on what their servers send.
///
///     app ─Register─▶ DistributorBus ─▶ Distributor ─ registerWebPush ─▶ AppRegistrations ═ relay
///     app ◀─NewEndpoint, Message─ ConnectorTopic ◀─ AppStream ◀─ inbox ◀─ POST of the app's server
final class Distributor {
    /// A registration that waits for the relay.
    private final class Waiting {
        var answers: [(RegistrationOutcome) -> Void] = []
        var timer: (any LoopTimer)?
    }

    private let state: AgentState
    private let registrations: AppRegistrations
    private let deliveries: AppDeliveries
    private let link: any OutboundLink
    private let caller: any ConnectorCaller
    private let trouble: StateTrouble
    private let scheduler: any Scheduler
    private let random: () -> UInt64
    private let log: Log
    private var topics: [String: ConnectorTopic] = [:]
    private var waiting: [String: Waiting] = [:]
    /// What URLs of registrations begin with, as the last welcome says; nil before the first.
    private var webPushURL: String?

    init(
        _ parts: AgentParts, link: any OutboundLink, caller: any ConnectorCaller, scheduler: any Scheduler,
        random: @escaping () -> UInt64, log: Log
    ) {
        state = parts.state
        registrations = parts.registrations
        deliveries = parts.deliveries
        trouble = parts.trouble
        self.link = link
        self.caller = caller
        self.scheduler = scheduler
        self.random = random
        self.log = log
    }

    /// How many apps are registered.
    var count: Int { state.connectors.records.count }

    /// Begins to take the messages of all registrations.
    func start() {
        for record in state.connectors.records.values { open(record) }
        // The agent ended between the two steps of a change: nobody knows the addresses of these.
        for topic in state.apps.wanted.keys where RegisterWebPush.hasForm(topic) && topics[topic] == nil {
            registrations.giveUp(topic)
        }
        caller.start(for: self)
    }

    /// Takes no messages any more, and leaves the bus.
    func stop() {
        caller.stop()
        for topic in topics.values { close(topic) }
        topics = [:]
        waiting = [:]
    }

    // MARK: The bus

    /// There is a bus: what waits is sent.
    func busOpened() {
        for topic in topics.values { topic.wake() }
        tellEndpoints()
    }

    /// An app registers. `answer` is called once.
    func register(
        _ wish: DistributorRequest.Registration, _ answer: @escaping (RegistrationOutcome) -> Void
    ) {
        do {
            let record = try self.record(for: wish)
            // The relay may have refused it at once.
            guard let topic = topics[record.topic] else { return answer(.failed(.actionRequired)) }
            topic.wake()
            guard endpoint(of: record) == nil else {
                answer(.succeeded)
                return tellEndpoint(record)
            }
            wait(for: record.topic, answer)
        } catch let refusal as RegistrationRefusal {
            log.notice(
                "\(wish.service) was not registered: \(refusal)", kind: "connector refused",
                from: wish.service, fields: .init(reason: "\(refusal)"))
            answer(.failed(refusal.reason))
        } catch {
            trouble.note(error)
            answer(.failed(.internalError))
        }
    }

    /// An app ends its registration. `answer` is called once, before the app is told that it is unregistered.
    func unregister(_ token: String, _ version: ConnectorVersion, _ answer: () -> Void) {
        answer()
        guard var record = state.connectors[token], drop(record) else { return }
        record.version = version
        log.notice("\(record.service) is unregistered", fields: .init(topic: record.topic))
        caller.call(.unregistered(wasAskedFor: true), of: record) { _ in }
    }

    /// The record of a registration, made if it is new.
    private func record(for wish: DistributorRequest.Registration) throws -> ConnectorRecord {
        if var known = state.connectors[wish.token] {
            guard known.service == wish.service else { throw RegistrationRefusal.otherService }
            if known.senderKey == wish.senderKey {
                (known.version, known.description) = (wish.version, wish.description)
                try keep(known)
                if topics[known.topic] == nil { open(known) }
                return known
            }
            // The key is part of the registration at the relay: with another key, the app has another address.
            guard drop(known) else { throw RegistrationRefusal.notStored }
        }
        guard state.connectors.records.count < Limits.connectors else { throw RegistrationRefusal.tooMany }
        let record = ConnectorRecord(
            token: wish.token, service: wish.service, description: wish.description,
            senderKey: wish.senderKey, version: wish.version,
            topic: RegisterWebPush.topicPrefix + digits(random()) + digits(random()))
        try keep(record)
        open(record)
        return record
    }

    private func digits(_ number: UInt64) -> String {
        let text = String(number, radix: 16)
        return String(repeating: "0", count: 16 - text.count) + text
    }

    private func keep(_ record: ConnectorRecord) throws(StoreError) {
        try state.connectors.put(record)
        topics[record.topic]?.record = record
    }

    private func wait(for topic: String, _ answer: @escaping (RegistrationOutcome) -> Void) {
        guard waiting.values.reduce(0, { $0 + $1.answers.count }) < Limits.waitingRegistrations else {
            return answer(.failed(.internalError))
        }
        let waiting = waiting[topic] ?? Waiting()
        self.waiting[topic] = waiting
        waiting.answers.append(answer)
        guard waiting.timer == nil else { return }
        waiting.timer = scheduler.makeTimer { [unowned self] in timeIsUp(topic) }
        waiting.timer?.arm(afterMilliseconds: Limits.connectorRegistrationMilliseconds)
    }

    private func settle(_ topic: String, _ outcome: RegistrationOutcome) {
        for answer in waiting.removeValue(forKey: topic)?.answers ?? [] { answer(outcome) }
    }

    private func timeIsUp(_ topic: String) {
        log.notice(
            "the relay has not answered a registration", kind: "connector waits", fields: .init(topic: topic))
        fail(topic, link.isUp ? .internalError : .network)
    }

    /// A registration for which an app waits cannot be made: it is forgotten, because the app tries again.
    private func fail(_ topic: String, _ reason: RegistrationOutcome.Reason) {
        if let record = state.connectors.record(of: topic), record.toldEndpoint.isEmpty { _ = drop(record) }
        settle(topic, .failed(reason))
    }

    // MARK: The relay

    /// The relay has welcomed the device.
    ///
    /// - Parameter url: what URLs of Web Push begin with; empty if the relay takes none.
    func welcomed(_ url: String) {
        webPushURL = url
        tellEndpoints()
    }

    /// The URL for the server of an app; nil if there is none yet.
    private func endpoint(of record: ConnectorRecord) -> String? {
        if let webPushURL, !webPushURL.isEmpty, let token = state.apps[record.topic]?.token {
            return webPushURL + token.hex
        }
        return record.toldEndpoint.isEmpty ? nil : record.toldEndpoint
    }

    /// Tells the apps whose URLs are not what they were told last, and answers those that wait.
    private func tellEndpoints() {
        for record in state.connectors.records.values {
            guard let endpoint = endpoint(of: record) else { continue }
            settle(record.topic, .succeeded)
            if endpoint != record.toldEndpoint { tellEndpoint(record) }
        }
    }

    private func tellEndpoint(_ record: ConnectorRecord) {
        guard let endpoint = endpoint(of: record) else { return }
        caller.call(.newEndpoint(endpoint), of: record) { [weak self] result in
            guard let self, case .success = result, var record = state.connectors[record.token] else {
                return
            }
            record.toldEndpoint = endpoint
            do throws(StoreError) { try keep(record) } catch { trouble.note(error) }
        }
    }

    private func heard(_ news: ConnectorTopic.News, _ topic: String) {
        guard let record = topics[topic]?.record else { return }
        switch news {
        case .registered:
            guard let endpoint = endpoint(of: record),
                endpoint != record.toldEndpoint || waiting[topic] != nil
            else { return }
            log.notice("\(record.service) is registered", fields: .init(topic: topic))
            settle(topic, .succeeded)
            tellEndpoint(record)
        case .refused: fail(topic, .actionRequired)
        case .ended:
            guard drop(record) else { return }
            settle(topic, .failed(.actionRequired))
            log.notice("the registration of \(record.service) has ended", fields: .init(topic: topic))
            caller.call(.unregistered(wasAskedFor: false), of: record) { _ in }
        }
    }

    // MARK: Topics

    private func open(_ record: ConnectorRecord) {
        let topic = ConnectorTopic(
            record, deliveries: deliveries, caller: caller, scheduler: scheduler, log: log,
            tell: { [unowned self] in heard($0, record.topic) })
        topics[record.topic] = topic
        registrations.registerWebPush(record.wish, for: topic.stream)
    }

    /// Forgets a registration, here and at the relay. Returns false if that cannot be stored.
    private func drop(_ record: ConnectorRecord) -> Bool {
        do throws(StoreError) {
            try state.connectors.remove(record.token)
        } catch {
            trouble.note(error)
            return false
        }
        if let topic = topics.removeValue(forKey: record.topic) { close(topic) }
        registrations.giveUp(record.topic)
        return true
    }

    private func close(_ topic: ConnectorTopic) {
        topic.stop()
        registrations.left(topic.stream)
    }
}

/// Why an app is not registered.
private enum RegistrationRefusal: Error, CustomStringConvertible {
    case otherService
    case tooMany
    case notStored

    var reason: RegistrationOutcome.Reason {
        switch self {
        case .otherService, .notStored: .internalError
        case .tooMany: .actionRequired
        }
    }

    var description: String {
        switch self {
        case .otherService: "another app has registered with its connection token"
        case .tooMany: "there are \(Limits.connectors) registrations already: unregister others first"
        case .notStored: "its former registration cannot be removed now"
        }
    }
}

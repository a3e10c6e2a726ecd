import FoundationEssentials
import PostriderCourier
import PostriderNotifications
import PostriderStorage
import PostriderSystem
import PostriderTransport

/// Answers the commands of the device's owner, such as `postrider-agent status`, on the app socket. Only the agent's
/// own user and root may use them.
final class AgentControlHandler {
    typealias Answer = (status: Int, body: [UInt8])

    private let state: AgentState
    private let parts: AgentParts
    private let handlers: HandlerPrograms
    private let link: any OutboundLink
    private let scheduler: any Scheduler
    private let log: Log
    private let user: UInt32
    private var lifecycle: AppLifecycle { parts.lifecycle }

    /// - Parameter user: who may use the commands, besides root.
    init(
        _ parts: AgentParts, handlers: HandlerPrograms, link: any OutboundLink, scheduler: any Scheduler,
        log: Log, user: UInt32 = UserAccount.own
    ) {
        state = parts.state
        self.parts = parts
        self.handlers = handlers
        self.link = link
        self.scheduler = scheduler
        self.log = log
        self.user = user
    }

    /// Answers one request of a process of this user.
    func handle(_ method: String, _ path: String, body: [UInt8], from caller: UInt32) -> Answer {
        guard caller == user || caller == 0 else {
            log.warning(
                "user \(caller) was refused: commands are for the agent's own user and root",
                kind: "command refused", from: "\(caller)")
            return Self.refusal(403, "Only root and the agent's own user may give the agent commands.")
        }
        let names = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst(2).map(String.init)
        do throws(StoreError) {
            switch (method, names.first, names.dropFirst().first) {
            case ("GET", "status", nil): return Self.answer(try status())
            case ("GET", "apps", nil): return Self.answer(try apps())
            case ("GET", "inbox", nil): return Self.answer(try inbox())
            case ("GET", "pending", nil): return Self.answer(try pending())
            case ("GET", "dead-letters", nil): return Self.answer(try deadLetters())
            case ("GET", "alerts", nil): return Self.answer(alerts())
            case ("PUT", "responses", let topic?): return try respond(topic, body)
            case ("PUT", "retried-letters", let number?): return try retry(number)
            case ("DELETE", "dead-letters", let number?): return try drop(number)
            case ("DELETE", "apps", let topic?): return try forget(topic)
            case ("PUT", "authorizations", let topic?): return try decide(topic, body)
            case ("PUT", "active-apps", let topic?): return tell(.activate, topic)
            case ("DELETE", "active-apps", let topic?): return tell(.suspend, topic)
            default: return Self.refusal(404, "The agent knows no \(method) \(path).")
            }
        } catch {
            parts.trouble.note(error)
            return Self.refusal(503, error.description)
        }
    }

    // MARK: Queries

    func status() throws(StoreError) -> AgentControl.Status {
        let apps = try apps()
        return AgentControl.Status(
            device: try state.device()?.deviceIdentity.description,
            isConnected: link.isUp,
            relay: link.place,
            apps: apps.count,
            running: apps.count { ["active", "background"].contains($0.state) },
            inbox: apps.reduce(0) { $0 + $1.inbox },
            pending: try pending().count,
            deadLetters: try state.deadLetters.entries().count)
    }

    private func apps() throws(StoreError) -> [AgentControl.App] {
        var apps: [AgentControl.App] = []
        let topics = Set(state.apps.records.keys).union(lifecycle.topics).union(state.consents.decided)
            .union(handlers.names)
        for topic in topics.sorted() {
            let record = state.apps[topic]
            let kept = lifecycle.status(of: topic)
            let handled = handlers.manifest(of: topic)
            var waiting = 0
            if let record { waiting = try state.inbox.count(of: record.number) }
            let business = parts.streams.newest(of: topic)?.business(at: scheduler.now)
            let stay = business.flatMap { $0.milliseconds < Limits.handlerNoticeMilliseconds ? nil : $0 }
            apps.append(
                AgentControl.App(
                    topic: topic, user: (kept?.supervisor.manifest ?? handled)?.user ?? record?.user,
                    state: kept?.supervisor.word ?? handlers.state(of: topic) ?? word(of: record),
                    process: kept?.process ?? handlers.process(of: topic),
                    isDeclared: kept != nil || handled != nil, isRegistered: record?.token != nil,
                    notifications: (record.map { parts.authorizations.status(of: $0) }
                        ?? state.consents[topic].status)
                        .word,
                    inbox: waiting, busySeconds: stay.map { $0.milliseconds / 1000 },
                    underWay: stay?.count, service: state.connectors.record(of: topic)?.service))
        }
        return apps
    }

    /// The state of an app without a manifest.
    private func word(of record: AppRecord?) -> String {
        guard let record else { return "not seen yet" }
        return parts.streams.attachments[record.topic.text] == nil ? "not running" : "active"
    }

    private func inbox() throws(StoreError) -> [AgentControl.Message] {
        var messages: [AgentControl.Message] = []
        for record in state.apps.records.values.sorted(by: { $0.number < $1.number }) {
            let attempts = try state.inbox.attempts(of: record.number)
            try state.inbox.forEachPending(of: record.number, after: 0) { row, parcel in
                messages.append(AgentControl.Message(row, parcel, attempts: attempts[row] ?? 0))
                return true
            }
        }
        return messages
    }

    private func pending() throws(StoreError) -> [AgentControl.Pending] {
        var pending: [AgentControl.Pending] = []
        for record in state.apps.records.values {
            for notice in try state.schedule.notices(of: record.number, .pending) {
                pending.append(
                    AgentControl.Pending(
                        topic: record.topic.text, identifier: notice.request.identifier,
                        title: notice.request.content.title, at: notice.at.milliseconds))
            }
        }
        return pending.sorted { ($0.at, $0.topic) < ($1.at, $1.topic) }
    }

    private func deadLetters() throws(StoreError) -> [AgentControl.Message] {
        try state.deadLetters.entries().map { entry in
            var told = AgentControl.Message(entry.row, entry.parcel, attempts: entry.attempts)
            told.reason = entry.reason
            told.diedAt = entry.diedAt.milliseconds
            return told
        }
    }

    private func alerts() -> [AgentControl.Alert] {
        parts.presenter.alerts.map { alert in
            AgentControl.Alert(
                topic: alert.key.topic, identifier: alert.key.identifier, title: alert.content.title,
                category: alert.content.category)
        }
    }

    // MARK: Orders

    private func respond(_ topic: String, _ body: [UInt8]) throws(StoreError) -> Answer {
        guard let response = try? JSONDecoder().decode(AgentControl.Response.self, from: Data(body)) else {
            return Self.refusal(400, "A response says the identifier of the alert.")
        }
        guard
            parts.presenter.respond(
                to: response.identifier, of: topic, action: response.action, text: response.text)
        else { return Self.refusal(404, "There is no alert \(response.identifier) of \(topic).") }
        return Self.done
    }

    private func retry(_ number: String) throws(StoreError) -> Answer {
        guard let row = Int64(number), try parts.deliveries.retryDeadLetter(row) else {
            return Self.noDeadLetter(number)
        }
        return Self.done
    }

    private func drop(_ number: String) throws(StoreError) -> Answer {
        guard let row = Int64(number), try state.deadLetters.drop(row) else {
            return Self.noDeadLetter(number)
        }
        return Self.done
    }

    private func forget(_ topic: String) throws(StoreError) -> Answer {
        try parts.registrations.forgetApp(topic)
            ? Self.done : Self.refusal(404, "The agent knows of no app \(topic).")
    }

    private func decide(_ topic: String, _ body: [UInt8]) throws(StoreError) -> Answer {
        guard let decision = try? JSONDecoder().decode(AgentControl.Decision.self, from: Data(body)) else {
            return Self.refusal(400, "A decision says whether the app isAllowed to notify.")
        }
        guard Topic(topic) != nil else {
            return Self.refusal(400, "'\(topic)' is not a topic: give the app's bundle identifier.")
        }
        let granted = decision.options.map { NotificationOptions.reading($0) }
        if let unknown = granted?.unknown {
            return Self.refusal(
                400, "'\(unknown)' is not an option: alert, sound, badge, critical and settings are.")
        }
        let status = decision.isAllowed ? AuthorizationStatus.authorized : .denied
        guard try parts.authorizations.decide(status, about: topic, granting: granted?.options) else {
            return Self.refusal(
                409,
                "The owner has decided about \(Limits.decisionsInAdvance) apps that have not come yet: "
                    + "'postrider-agent forget TOPIC' drops one.")
        }
        return Self.done
    }

    private func tell(_ event: AppSupervisor.Event, _ topic: String) -> Answer {
        guard lifecycle.handle(event, topic) else {
            return Self.refusal(404, "No manifest declares an app \(topic).")
        }
        // An owner who activates an app uses the device, so held-back notifications are fetched.
        if event == .activate { link.send(.fetch) }
        return Self.done
    }

    // MARK: Answers

    private static let done: Answer = (200, Array("{}".utf8))

    private static func noDeadLetter(_ number: String) -> Answer {
        refusal(404, "There is no dead letter \(number).")
    }

    private static func answer(_ value: some Encodable) -> Answer {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(value) else {
            preconditionFailure("control messages are plain values")
        }
        return (200, Array(data))
    }

    private static func refusal(_ status: Int, _ sentence: String) -> Answer {
        (status, answer(AgentControl.Refusal(sentence: sentence)).body)
    }
}

extension AgentControl.Message {
    /// The entry for what a row holds.
    fileprivate init(_ row: Int64, _ parcel: InboxContent, attempts: Int) {
        let kind =
            switch parcel {
            case .remote: "push"
            case .fired: "local"
            case .responded: "response"
            }
        self.init(
            number: row, topic: parcel.topic, kind: kind, identity: parcel.identity.description,
            attempts: attempts)
    }
}

extension AppSupervisor {
    /// The name of its state.
    fileprivate var word: String {
        switch state {
        case .idle: "not running"
        case .resting: isCrashLooping ? "crash loop" : "waiting"
        case .starting: "starting"
        case .running: isActive ? "active" : "background"
        case .ending: "ending"
        }
    }
}

extension AuthorizationStatus {
    /// Its name, as in the agent's settings.
    fileprivate var word: String {
        switch self {
        case .notDetermined: "ask"
        case .authorized: "allow"
        case .denied: "deny"
        case .provisional: "quiet"
        }
    }
}

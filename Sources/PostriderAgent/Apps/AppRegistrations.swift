import PostriderCourier
import PostriderNotifications
import PostriderStorage

/// The topics that apps have registered or attached to: what apps ask for, what the relay says of it, and how apps that
/// are gone are forgotten.
final class AppRegistrations {
    private let state: AgentState
    private let admission: AppAdmission
    private let authorizations: Authorizations
    private let streams: AttachedStreams
    private let changes: TurnChanges
    private let lifecycle: AppLifecycle
    private let system: SystemEvents
    private let center: LocalNotifications
    private let link: any OutboundLink
    private let trouble: StateTrouble
    private let log: Log
    /// Topics whose registration the relay was asked to end and has not ended yet. The app may have registered again
    /// meanwhile.
    private var leaving: Set<String> = []

    init(
        _ state: AgentState, admission: AppAdmission, authorizations: Authorizations,
        streams: AttachedStreams, changes: TurnChanges, lifecycle: AppLifecycle, system: SystemEvents,
        center: LocalNotifications, link: any OutboundLink, trouble: StateTrouble, log: Log
    ) {
        self.state = state
        self.admission = admission
        self.authorizations = authorizations
        self.streams = streams
        self.changes = changes
        self.lifecycle = lifecycle
        self.system = system
        self.center = center
        self.link = link
        self.trouble = trouble
        self.log = log
    }

    // MARK: Apps

    /// An app registers for its topic's token and notifications. The environment that was asked for last counts.
    func register(_ text: String, in environment: Environment = .production, for stream: AppStream) {
        do {
            let record = try admission.admit(text, in: environment, for: stream)
            try authorizations.applyDecision(about: record)
            attach(stream, to: text)
            authorizations.tellStatus(of: record, to: stream)
            if let token = record.token {
                stream.tell(
                    .registered(Registered(topic: text, deviceToken: token, environment: environment)))
            } else {
                link.send(.register(topic: text, environment: environment))
            }
        } catch let refusal as AppRefusal {
            log.notice(
                "user \(stream.user) was refused: \(refusal.reason)", kind: "app refused",
                from: "\(stream.user)", fields: .init(topic: text, reason: refusal.reason))
            stream.tell(.refused(Refused(topic: text, reason: refusal.reason)))
        } catch {
            trouble.note(error)
            stream.tell(
                .refused(Refused(topic: text, reason: "The agent cannot store the registration now.")))
        }
    }

    /// The distributor of UnifiedPush registers for Web Push.
    func registerWebPush(_ wish: RegisterWebPush, for stream: AppStream) {
        do {
            let record = try admission.admit(wish.topic, in: .production, for: stream)
            attach(stream, to: wish.topic)
            if let token = record.token {
                stream.tell(.registered(Registered(topic: wish.topic, deviceToken: token)))
            } else {
                link.send(.registerWebPush(wish))
            }
        } catch let refusal as AppRefusal {
            stream.tell(.refused(Refused(topic: wish.topic, reason: refusal.reason)))
        } catch {
            trouble.note(error)
            let reason = "The agent cannot store the registration now."
            stream.tell(.refused(Refused(topic: wish.topic, reason: reason)))
        }
    }

    /// Gives up a topic for which no app asks any more.
    func giveUp(_ topic: String) {
        if let record = state.apps[topic] { give(up: record) }
    }

    /// An app attaches to its topic without asking for a token.
    func attach(_ topic: String, for stream: AppStream) {
        do {
            let record = try authorizations.admit(topic, for: stream)
            attach(stream, to: topic)
            let status = authorizations.status(of: record)
            stream.tell(.authorization(Authorization(topic: topic, status: status)))
        } catch {
            stream.tell(.refused(Refused(topic: topic, reason: authorizations.sentence(error))))
        }
    }

    /// An app gives up its topic and everything that waits for it. Once the relay has ended the registration, another
    /// user may have the topic.
    func unregister(_ text: String, for stream: AppStream) {
        guard let record = state.apps[text], admission.owner(of: record) == stream.user else {
            stream.tell(.unregistered(topic: text))
            return
        }
        if !give(up: record, for: stream) {
            stream.tell(.refused(Refused(topic: text, reason: "The agent cannot store the change now.")))
        }
    }

    /// An app says whether it decides how the alerts of a topic are presented.
    func wish(_ wish: PresentationWish, from stream: AppStream) {
        guard let record = state.apps[wish.topic], admission.owner(of: record) == stream.user else { return }
        if wish.decides { stream.decisions.insert(wish.topic) } else { stream.decisions.remove(wish.topic) }
    }

    /// Begins the delivery of a topic to a stream.
    private func attach(_ stream: AppStream, to topic: String) {
        if !stream.isGreeted { system.endMovement() }
        guard streams.add(stream, to: topic) else { return }
        lifecycle.handle(.attached, topic)
        // Sent before anything is handed over, which happens at the end of the turn.
        system.greet(stream)
    }

    /// A stream has ended: its topics are delivered to the streams that are now the newest.
    func left(_ stream: AppStream) {
        for topic in streams.attachments.keys { detach(stream, from: topic) }
    }

    /// Ends the delivery of a topic to a stream.
    private func detach(_ stream: AppStream, from topic: String) {
        if streams.remove(stream, from: topic) { lifecycle.handle(.detached, topic) }
    }

    // MARK: The relay

    /// The link is up, and the relay has these registrations.
    func welcomed(_ registrations: [Registered]) {
        registrations.forEach(registered)
        let alive = Set(registrations.map(\.topic))
        for topic in state.apps.unwanted.subtracting(alive) { forget(topic) }
        leaving = state.apps.unwanted.intersection(alive)
    }

    /// The relay has made a registration, or confirms one; its app is told if its token is new. A registration in
    /// another environment than the app's answers an older request, or precedes the app's change; the link ends it.
    func registered(_ registered: Registered) {
        guard var record = state.apps[registered.topic], record.isWanted,
            record.environment == registered.environment, record.token != registered.deviceToken
        else { return }
        record.token = registered.deviceToken
        guard keep(record) else { return }
        streams.tell(registered.topic, .registered(registered))
    }

    /// A registration has ended, because its app asked for that or the operator did it.
    func unregistered(_ topic: String) {
        guard var record = state.apps[topic] else { return }
        let wasAskedFor = leaving.remove(topic) != nil
        guard record.isWanted else { return forget(topic) }
        guard !wasAskedFor else { return }
        record.token = nil
        guard keep(record) else { return }
        streams.tell(topic, .unregistered(topic: topic))
    }

    /// The relay refuses a registration.
    func refused(_ refused: Refused) {
        log.notice(
            "the relay refused topic \(refused.topic): \(refused.reason)", kind: "relay refused topic",
            from: refused.topic, fields: .init(topic: refused.topic, reason: refused.reason))
        streams.tell(refused.topic, .refused(refused))
    }

    /// The relay has ended the registration of an app that wanted that: the agent forgets the app.
    private func forget(_ topic: String) {
        guard let record = state.apps[topic], !record.isWanted, state.centers[record.number] == nil else {
            return
        }
        do throws(StoreError) { try state.apps.remove(record) } catch { trouble.note(error) }
    }

    // MARK: The owner of the device

    /// Topics were declared anew. A stream that is attached to a topic which now belongs to another user gets nothing
    /// of it any more.
    func declarationsChanged() {
        for (topic, present) in streams.attachments {
            guard let record = state.apps[topic] else { continue }
            let refusal = AppRefusal.notYours(record.topic)
            for stream in present.streams where stream.user != admission.owner(of: record) {
                log.notice(
                    "user \(stream.user) has lost a topic: \(refusal.reason)", kind: "topic lost",
                    from: "\(stream.user)", fields: .init(topic: topic, reason: refusal.reason))
                detach(stream, from: topic)
                stream.tell(.refused(Refused(topic: topic, reason: refusal.reason)))
            }
        }
    }

    /// Forgets an app because the owner of the device asks for it: its registration, channels, waiting notifications,
    /// scheduled notifications and permissions. Returns false if the app is unknown. If the app comes back, it begins
    /// anew.
    func forgetApp(_ topic: String) throws(StoreError) -> Bool {
        let wasDecided = state.consents[topic] != ConsentRegister.Record()
        state.presentation.add(.answered(topic: topic))
        try state.consents.put(ConsentRegister.Record(), of: topic)
        guard let record = state.apps[topic] else { return wasDecided }
        try state.clear(record)
        changes.dropArrivals(of: record.number)
        try center.setAlarm()
        authorizations.forget(topic)
        state.presentation.add(.revoked(topic: topic, identifiers: nil))
        state.presentation.add(.badge(topic: topic))
        log.notice(
            "\(topic) is forgotten", kind: "forgotten", from: topic, fields: .init(topic: topic))
        if record.isWanted || record.token != nil {
            give(up: record)
        } else if !leaving.contains(topic) {
            try state.apps.remove(record)
        }
        return true
    }

    /// Forgets an app whose manifest is gone, unless something waits for it or a stream is attached to it.
    func forgetUndeclared(_ topic: String) {
        guard let record = state.apps[topic] else { return }
        do throws(StoreError) {
            let waiting = try state.inbox.count(of: record.number)
            let pending = try state.schedule.notices(of: record.number, .pending).count
            if waiting > 0 || pending > 0 {
                log.notice(
                    "\(topic) is not declared any more; it is kept, because \(waiting + pending) "
                        + "notifications wait for it: 'postrider-agent forget \(topic)' drops them",
                    fields: .init(topic: topic))
            } else if streams.attachments[topic] != nil, lifecycle.status(of: topic)?.process == nil {
                log.notice(
                    "\(topic) is not declared any more; it is kept, because somebody has started it",
                    fields: .init(topic: topic))
            } else {
                _ = try forgetApp(topic)
            }
        } catch {
            trouble.note(error)
        }
    }

    /// Gives up an app's topic, and tells its streams, the app that asked for it last, and the relay. Returns false if
    /// that could not be stored.
    @discardableResult
    private func give(up record: AppRecord, for asker: AppStream? = nil) -> Bool {
        let topic = record.topic.text
        var gone = record
        gone.isWanted = false
        gone.token = nil
        guard keep(gone) else { return false }
        // What arrived in this turn is dropped too.
        changes.dropArrivals(of: record.number)
        let others = streams.attachments[topic]?.streams.filter { $0 !== asker } ?? []
        if state.centers[record.number] == nil, !lifecycle.isDeclared(topic) {
            streams.attachments[topic] = nil
        }
        for stream in others + (asker.map { [$0] } ?? []) { stream.tell(.unregistered(topic: topic)) }
        leaving.insert(topic)
        link.send(.unregister(topic: topic))
        return true
    }

    /// Stores a record. Returns false, and changes nothing, if that fails.
    private func keep(_ record: AppRecord) -> Bool {
        do throws(StoreError) {
            try state.apps.put(record)
            streams.isReceptionStale = true
            return true
        } catch {
            trouble.note(error)
            return false
        }
    }
}

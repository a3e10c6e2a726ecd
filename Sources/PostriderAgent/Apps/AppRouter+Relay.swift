import PostriderCourier
import PostriderNotifications
import PostriderStorage

// Events of the link to the relay.
extension AppRouter {
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
        tell(registered.topic, .registered(registered))
    }

    /// A registration has ended, because its app asked for that or the operator did it.
    func unregistered(_ topic: String) {
        guard var record = state.apps[topic] else { return }
        let wasAskedFor = leaving.remove(topic) != nil
        guard record.isWanted else { return forget(topic) }
        guard !wasAskedFor else { return }
        record.token = nil
        guard keep(record) else { return }
        tell(topic, .unregistered(topic: topic))
    }

    /// The relay refuses a registration.
    func refused(_ refused: Refused) {
        log.notice(
            "the relay refused topic \(refused.topic): \(refused.reason)", kind: "relay refused topic",
            from: refused.topic, fields: .init(topic: refused.topic, reason: refused.reason))
        tell(refused.topic, .refused(refused))
    }

    /// A notification arrived over the link. It is acknowledged when it is stored.
    func delivered(_ deliver: Deliver) {
        acknowledgements.append(deliver.delivery)
        arrived(deliver)
    }

    /// Keeps what arrived over the link until the end of the turn.
    func arrived(_ deliver: Deliver) {
        if let record = state.apps[deliver.topic], record.isWanted {
            arrivals.append(Inbox.Arrival(app: record.number, parcel: .remote(deliver.received(at: now))))
            dueTopics.insert(deliver.topic)
        } else {
            log.info(
                "a notification for \(deliver.topic), which no app wants, was dropped", kind: "unwanted",
                from: deliver.topic, fields: .init(topic: deliver.topic))
        }
    }

    /// The link is gone, so what arrived over it cannot be acknowledged any more. The relay sends it again, and the
    /// inbox recognises it.
    func linkEnded() {
        acknowledgements.removeAll()
        reporter.linkEnded()
    }

    func tell(_ topic: String, _ message: AgentMessage) {
        for stream in attachments[topic]?.streams ?? [] { stream.tell(message) }
    }

    /// The relay has ended the registration of an app that wanted that: the agent forgets the app.
    private func forget(_ topic: String) {
        guard let record = state.apps[topic], !record.isWanted, state.centers[record.number] == nil else {
            return
        }
        do throws(StoreError) { try state.apps.remove(record) } catch { trouble.note(error) }
    }

    /// Stores a record. Returns false, and changes nothing, if that fails.
    func keep(_ record: AppRecord) -> Bool {
        do throws(StoreError) {
            try state.apps.put(record)
            isReceptionStale = true
            return true
        } catch {
            trouble.note(error)
            return false
        }
    }
}

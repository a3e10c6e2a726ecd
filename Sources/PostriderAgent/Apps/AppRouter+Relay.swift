import PostriderCourier
import PostriderNotifications
import PostriderStorage

// What the link to the relay tells the desk.
extension AppRouter {
    /// The link is up, and these registrations are alive at the relay.
    func welcomed(_ registrations: [Registered]) {
        registrations.forEach(registered)
        let alive = Set(registrations.map(\.topic))
        for topic in state.apps.unwanted.subtracting(alive) { forget(topic) }
        leaving = state.apps.unwanted.intersection(alive)
    }

    /// A registration is alive: its app is told, if this is news. One in another environment than the app's answers
    /// an older question, or was made before the app changed over; the link sees to that.
    func registered(_ registered: Registered) {
        guard var record = state.apps[registered.topic], record.isWanted,
            record.environment == registered.environment, record.token != registered.deviceToken
        else { return }
        record.token = registered.deviceToken
        guard keep(record) else { return }
        tell(registered.topic, .registered(registered))
    }

    /// A registration has ended: because its app wished so, or by the operator.
    func unregistered(_ topic: String) {
        guard var record = state.apps[topic] else { return }
        let wasAskedFor = leaving.remove(topic) != nil
        guard record.isWanted else { return forget(topic) }
        guard !wasAskedFor else { return }
        record.token = nil
        guard keep(record) else { return }
        tell(topic, .unregistered(topic: topic))
    }

    /// A registration cannot be made.
    func refused(_ refused: Refused) {
        log.notice(
            "the relay refused topic \(refused.topic): \(refused.reason)", kind: "relay refused topic",
            from: refused.topic)
        tell(refused.topic, .refused(refused))
    }

    /// A notification has come down the link. It is acknowledged when it is safe.
    func delivered(_ deliver: Deliver) {
        acknowledgements.append(deliver.delivery)
        arrived(deliver)
    }

    /// Takes on what came down the link, until the turn ends.
    func arrived(_ deliver: Deliver) {
        if let record = state.apps[deliver.topic], record.isWanted {
            arrivals.append(Inbox.Arrival(app: record.number, parcel: .remote(deliver.received(at: now))))
            stirred.insert(deliver.topic)
        } else {
            log.info(
                "a notification for \(deliver.topic), which no app wants, was dropped", kind: "unwanted",
                from: deliver.topic)
        }
    }

    /// The link is gone, and what came down it cannot be acknowledged any more. It comes again, and is known then.
    func linkEnded() {
        acknowledgements.removeAll()
        reporter.linkEnded()
    }

    func tell(_ topic: String, _ message: AgentMessage) {
        for stream in attachments[topic]?.streams ?? [] { stream.tell(message) }
    }

    /// The relay knows that an app is gone: so does the agent.
    private func forget(_ topic: String) {
        guard let record = state.apps[topic], !record.isWanted, state.centers[record.number] == nil else {
            return
        }
        do throws(StoreError) { try state.apps.remove(record) } catch { trouble.note(error) }
    }

    /// False: it could not be stored, and is not so.
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

import PostriderCourier
import PostriderNotifications
import PostriderStorage

// How apps that are gone from the device are forgotten.
extension AppRouter {
    /// Takes the newly declared topics. A stream that is attached to a topic which now belongs to another user gets
    /// nothing of it any more.
    func declare(_ declarations: [String: UInt32]) {
        self.declarations = declarations
        for (topic, present) in attachments {
            guard let record = state.apps[topic] else { continue }
            let refusal = AppRefusal.notYours(record.topic)
            for stream in present.streams where stream.user != owner(of: record) {
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
        presenter?.consent.withdraw(topic)
        try state.consents.put(ConsentRegister.Record(), of: topic)
        guard let record = state.apps[topic] else { return wasDecided }
        try state.clear(record)
        arrivals.removeAll { $0.app == record.number }
        try center.setAlarm()
        center.waiting[topic] = nil
        presenter?.revoke(nil, of: topic)
        presenter?.showBadge(of: topic)
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
                        + "notifications wait for it: 'postrider agent forget \(topic)' drops them",
                    fields: .init(topic: topic))
            } else if attachments[topic] != nil, lifecycle?.status(of: topic)?.process == nil {
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
    func give(up record: AppRecord, for asker: AppStream? = nil) -> Bool {
        let topic = record.topic.text
        var gone = record
        gone.isWanted = false
        gone.token = nil
        guard keep(gone) else { return false }
        // What arrived in this turn is dropped too.
        arrivals.removeAll { $0.app == record.number }
        let others = attachments[topic]?.streams.filter { $0 !== asker } ?? []
        if state.centers[record.number] == nil, lifecycle?.isDeclared(topic) != true {
            attachments[topic] = nil
        }
        for stream in others + (asker.map { [$0] } ?? []) { stream.tell(.unregistered(topic: topic)) }
        leaving.insert(topic)
        link?.send(.unregister(topic: topic))
        return true
    }

    /// Ends the delivery of a topic to a stream.
    func detach(_ stream: AppStream, from topic: String) {
        guard var remaining = attachments[topic],
            let index = remaining.streams.firstIndex(where: { $0 === stream })
        else { return }
        remaining.streams.remove(at: index)
        if index == remaining.streams.count { remaining.rewind() }
        attachments[topic] = remaining.streams.isEmpty ? nil : remaining
        isReceptionStale = true
        dueTopics.insert(topic)
        if remaining.streams.isEmpty { lifecycle?.handle(.detached, topic) }
    }
}

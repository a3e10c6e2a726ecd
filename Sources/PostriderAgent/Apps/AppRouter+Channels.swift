import PostriderCourier
import PostriderNotifications

/// What the desk does for channels: the agent remembers which ones an app wants, and asks for them on every link.
extension AppRouter {
    // MARK: Apps

    /// An app wants the broadcasts of a channel of its topic.
    func subscribe(_ wish: Subscribe, for stream: AppStream) {
        guard let record = state.apps[wish.topic], record.isWanted, owner(of: record) == stream.user else {
            refuse(wish, "Register the topic first.", stream)
            return
        }
        do throws(StoreError) {
            if let reason = try state.channels.add(wish.channel, to: record.number) {
                refuse(wish, reason, stream)
                return
            }
            line?.send(.subscribe(Subscribe(topic: wish.topic, channel: wish.channel)))
        } catch {
            trouble.note(error)
            refuse(wish, "The agent cannot store the subscription now.", stream)
        }
    }

    /// An app wants them no longer.
    func unsubscribe(_ wish: Subscribe, for stream: AppStream) {
        guard let record = state.apps[wish.topic], owner(of: record) == stream.user else {
            refuse(wish, "", stream)
            return
        }
        do throws(StoreError) {
            try state.channels.remove(wish.channel, from: record.number)
            // The device's subscription is for all of its apps.
            if try state.channels.apps(of: wish.channel).isEmpty { line?.send(.unsubscribe(wish.channel)) }
            refuse(wish, "", stream)
        } catch {
            trouble.note(error)
        }
    }

    private func refuse(_ wish: Subscribe, _ reason: String, _ stream: AppStream) {
        stream.tell(.unsubscribed(Unsubscribed(channel: wish.channel, reason: reason, topic: wish.topic)))
    }

    // MARK: The relay

    /// The link is up, and what is registered is on its way. So are subscriptions now, which ended with the last link.
    func subscribeAnew() {
        let topics = Dictionary(
            uniqueKeysWithValues: state.apps.records.values.map { ($0.number, $0.topic.text) })
        do throws(StoreError) {
            for (app, channel, last) in try state.channels.subscriptions() {
                guard let topic = topics[app] else { continue }
                line?.send(
                    .subscribe(
                        Subscribe(
                            topic: topic, channel: channel, last: last?.identity,
                            lastAcceptedAt: last?.acceptedAt)))
            }
        } catch {
            trouble.note(error)
        }
    }

    /// A channel's broadcasts come from now on.
    func subscribed(to channel: ChannelIdentity) {
        for topic in topics(of: channel) { tell(topic, .subscribed(channel)) }
    }

    /// A channel's broadcasts do not come, to one app or to any: the relay says why, and it is no use to ask again.
    /// What an app has wished it knows already.
    func unsubscribed(_ end: Unsubscribed) {
        guard !end.reason.isEmpty else { return }
        log.notice(
            "the relay ended the subscription of channel \(end.channel): \(end.reason)",
            kind: "subscription ended", from: "\(end.channel)")
        for topic in topics(of: end.channel) where end.topic.isEmpty || end.topic == topic {
            guard let record = state.apps[topic] else { continue }
            do throws(StoreError) {
                try state.channels.remove(end.channel, from: record.number)
            } catch {
                trouble.note(error)
            }
            tell(topic, .unsubscribed(end))
        }
    }

    /// A broadcast has come down the link. It becomes safe as any notification does, and is not acknowledged.
    func broadcast(_ deliver: Deliver) { arrived(deliver) }

    private func topics(of channel: ChannelIdentity) -> [String] {
        do throws(StoreError) {
            let apps = try state.channels.apps(of: channel)
            return state.apps.records.values.filter { apps.contains($0.number) }.map(\.topic.text).sorted()
        } catch {
            trouble.note(error)
            return []
        }
    }
}

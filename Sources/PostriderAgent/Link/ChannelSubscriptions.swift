import PostriderCourier
import PostriderNotifications
import PostriderStorage

/// The channels of the device's apps. The agent remembers which channels an app wants, and subscribes to them on every
/// link.
final class ChannelSubscriptions {
    private let state: AgentState
    private let admission: AppAdmission
    private let streams: AttachedStreams
    private let link: any OutboundLink
    private let trouble: StateTrouble
    private let log: Log

    init(
        _ state: AgentState, admission: AppAdmission, streams: AttachedStreams, link: any OutboundLink,
        trouble: StateTrouble, log: Log
    ) {
        self.state = state
        self.admission = admission
        self.streams = streams
        self.link = link
        self.trouble = trouble
        self.log = log
    }

    // MARK: Apps

    /// An app subscribes to a channel of its topic.
    func subscribe(_ wish: Subscribe, for stream: AppStream) {
        guard let record = state.apps[wish.topic], record.isWanted, admission.owner(of: record) == stream.user
        else {
            refuse(wish, "Register the topic first.", stream)
            return
        }
        do throws(StoreError) {
            if let reason = try state.channels.add(wish.channel, to: record.number) {
                refuse(wish, reason, stream)
                return
            }
            link.send(.subscribe(Subscribe(topic: wish.topic, channel: wish.channel)))
        } catch {
            trouble.note(error)
            refuse(wish, "The agent cannot store the subscription now.", stream)
        }
    }

    /// An app ends its subscription.
    func unsubscribe(_ wish: Subscribe, for stream: AppStream) {
        guard let record = state.apps[wish.topic], admission.owner(of: record) == stream.user else {
            refuse(wish, "", stream)
            return
        }
        do throws(StoreError) {
            try state.channels.remove(wish.channel, from: record.number)
            // The device has one subscription for all of its apps.
            if try state.channels.apps(of: wish.channel).isEmpty { link.send(.unsubscribe(wish.channel)) }
            refuse(wish, "", stream)
        } catch {
            trouble.note(error)
        }
    }

    private func refuse(_ wish: Subscribe, _ reason: String, _ stream: AppStream) {
        stream.tell(.unsubscribed(Unsubscribed(channel: wish.channel, reason: reason, topic: wish.topic)))
    }

    // MARK: The relay

    /// The link is up, and registrations have been sent. Subscriptions are sent again now, because they ended with the
    /// last link.
    func subscribeAnew() {
        let topics = Dictionary(
            uniqueKeysWithValues: state.apps.records.values.map { ($0.number, $0.topic.text) })
        do throws(StoreError) {
            for (app, channel, last) in try state.channels.subscriptions() {
                guard let topic = topics[app] else { continue }
                link.send(
                    .subscribe(
                        Subscribe(
                            topic: topic, channel: channel, last: last?.identity,
                            lastAcceptedAt: last?.acceptedAt)))
            }
        } catch {
            trouble.note(error)
        }
    }

    /// The relay has begun a subscription.
    func subscribed(to channel: ChannelIdentity) {
        for topic in topics(of: channel) { streams.tell(topic, .subscribed(channel)) }
    }

    /// The relay says that a subscription has ended. With a reason, the relay has refused or ended it, for one app or
    /// for all, and asking again is of no use. Without a reason, an app has asked for the end, and need not be told.
    func unsubscribed(_ end: Unsubscribed) {
        guard !end.reason.isEmpty else { return }
        log.notice(
            "the relay ended the subscription of channel \(end.channel): \(end.reason)",
            kind: "subscription ended", from: "\(end.channel)", fields: .init(reason: end.reason))
        for topic in topics(of: end.channel) where end.topic.isEmpty || end.topic == topic {
            guard let record = state.apps[topic] else { continue }
            do throws(StoreError) {
                try state.channels.remove(end.channel, from: record.number)
            } catch {
                trouble.note(error)
            }
            streams.tell(topic, .unsubscribed(end))
        }
    }

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

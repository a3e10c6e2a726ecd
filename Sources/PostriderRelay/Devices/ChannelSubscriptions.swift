import PostriderChannels
import PostriderCourier
import PostriderDeviceQueue
import PostriderNotifications

/// The devices of one shard that are subscribed to each channel; it sends them broadcasts.
final class ChannelSubscriptions {
    private let context: ShardContext
    var subscribers = Subscribers<DeviceSession>()
    /// What became of broadcasts here. Their acceptance is counted by the channel's home.
    private(set) var tally = BroadcastTally()
    /// The questions to the homes of channels that have no answer yet, by their tickets.
    private var questions: [UInt64: Question] = [:]
    /// The order of broadcasts and answers from other nodes; unused without a cluster.
    private var order = BroadcastOrder()
    /// The last broadcast with its frame, because many devices subscribe to one channel.
    private var framed: (broadcast: Broadcast, frame: [UInt8])?

    private struct Question {
        let request: SubscriptionRequest
        /// Whether it was unanswered at the last look.
        var isOld = false
    }

    init(_ context: ShardContext) { self.context = context }

    /// A device asks for the broadcasts of a channel. The channel's home is asked whether the channel exists.
    func subscribe(_ subscribe: Subscribe, by session: DeviceSession, at entry: DeviceEntry) {
        guard let topic = Topic(subscribe.topic), let number = entry.device.registrations.number(of: topic)
        else {
            session.refuse(
                subscribe.channel, of: subscribe.topic, "The topic is not registered on this device.")
            return
        }
        let intent = SubscriptionIntent(channel: subscribe.channel, topic: topic)
        let known = session.subscriptions[intent]
        guard known != nil || session.subscriptions.count < Limits.subscriptionsPerDevice else {
            session.refuse(subscribe.channel, of: subscribe.topic, "The device has too many subscriptions.")
            return
        }
        let request = SubscriptionRequest(
            channel: subscribe.channel,
            owner: ChannelOwner(topic: topic, environment: number.environment),
            wish: subscribe,
            shard: context.index,
            connection: session.number,
            ticket: context.drawNumber()
        )
        session.subscriptions[intent] = Subscription(
            ticket: request.ticket, isGranted: known?.isGranted ?? false)
        if let known { endQuestion(known.ticket) }
        questions[request.ticket] = Question(request: request)
        order.asked(about: request.channel)
        ask(request)
    }

    /// A question is answered, or nobody waits for its answer any more.
    private func endQuestion(_ ticket: UInt64) {
        guard let question = questions.removeValue(forKey: ticket) else { return }
        order.answered(about: question.request.channel)
    }

    /// Asks the channel's home. Where no node decides about the app, the question waits for ``askAgain()``.
    private func ask(_ request: SubscriptionRequest) {
        guard let home = context.outbox.place(of: request.owner) else { return }
        context.outbox.send(.channel(.subscribe(request)), to: home)
    }

    /// Asks again what was not answered since the last call: in a cluster a question or its answer gets lost if a link
    /// ends, or if another node decides about the app meanwhile.
    func askAgain() {
        for (ticket, question) in questions.sorted(by: { $0.key < $1.key }) {
            if question.isOld { ask(question.request) }
            questions[ticket]?.isOld = true
        }
    }

    /// The channel's home has answered. From here on the device gets the channel's broadcasts in order.
    ///
    /// - Parameter row: what the home has broadcast before the answer has lower rows; 0 without a cluster.
    func subscribed(
        _ session: DeviceSession, _ request: SubscriptionRequest, isKnown: Bool, _ stored: Broadcast?,
        _ row: QueueRow
    ) {
        let intent = SubscriptionIntent(channel: request.channel, topic: request.owner.topic)
        guard let subscription = session.subscriptions[intent], subscription.ticket == request.ticket,
            questions[request.ticket] != nil
        else { return }
        guard isKnown else {
            end(intent, of: session)
            session.refuse(request.channel, of: intent.topic.text, "The app has no such channel.")
            return
        }
        subscribers.add(session, to: request.channel)
        session.subscriptions[intent]?.isGranted = true
        session.say(.subscribed(request.channel))
        // What has come meanwhile is newer than what the channel stored at the time of the answer.
        if let newer = order.newest(of: request.channel, after: row) {
            if !subscription.isGranted { send(frame(newer), to: session) }
        } else {
            order.grant(request.channel, to: session.number, at: row)
            if let stored { send(frame(stored), to: session) }
        }
        endQuestion(request.ticket)
    }

    /// Ends subscriptions of a device, because it unsubscribes, its app is gone, or it has disconnected.
    func end(
        of session: DeviceSession, where isOver: (SubscriptionIntent) -> Bool = { _ in true }
    ) {
        for intent in session.subscriptions.keys.filter(isOver) { end(intent, of: session) }
    }

    private func end(_ intent: SubscriptionIntent, of session: DeviceSession) {
        guard let ended = session.subscriptions.removeValue(forKey: intent) else { return }
        endQuestion(ended.ticket)
        if ended.isGranted {
            subscribers.remove(session, from: intent.channel)
            order.end(of: intent.channel, for: session.number)
        }
        if subscribers[intent.channel].isEmpty { order.forget(intent.channel) }
    }

    /// Sends a broadcast to the subscribers here, and records their number in the trace.
    func deliver(_ broadcast: Broadcast, _ row: QueueRow) {
        let sessions = recipients(of: broadcast, row)
        guard !sessions.isEmpty else { return }
        let frame = frame(broadcast)
        let before = tally
        for session in sessions { send(frame, to: session) }
        context.trace.noteBroadcast(
            broadcast, row, sent: Int(tally.sent - before.sent), skipped: Int(tally.dropped - before.dropped),
            at: context.now)
    }

    /// The subscribers here that have nothing newer of the channel.
    private func recipients(of broadcast: Broadcast, _ row: QueueRow) -> [DeviceSession] {
        let sessions = subscribers[broadcast.channel]
        guard context.outbox.places != nil else { return sessions }
        guard let newer = order.take(broadcast, row) else { return [] }
        return newer.isEmpty ? sessions : sessions.filter { newer[$0.number] == nil }
    }

    /// A channel was removed.
    func removed(_ channel: ChannelIdentity) {
        for session in subscribers.removeAll(from: channel) {
            let granted = session.subscriptions.filter { $0.key.channel == channel && $0.value.isGranted }
            for intent in granted.keys {
                session.subscriptions[intent] = nil
                session.refuse(channel, of: intent.topic.text, "The channel was deleted.")
            }
        }
        order.forget(channel)
    }

    /// A device that is leaving gets nothing, and does not count.
    private func send(_ frame: [UInt8], to session: DeviceSession) {
        guard session.isLinkOpen else { return }
        if session.broadcast(frame) { tally.sent += 1 } else { tally.dropped += 1 }
    }

    /// The bytes of a broadcast's message, the same for every device.
    private func frame(_ broadcast: Broadcast) -> [UInt8] {
        if let framed, framed.broadcast === broadcast { return framed.frame }
        let frame = frameBroadcast(broadcast)
        framed = (broadcast, frame)
        return frame
    }
}

/// An app's subscription to a channel, as the device asked for it. A channel belongs to one app, so at most one of
/// several apps that ask for it can get it.
struct SubscriptionIntent: Hashable {
    let channel: ChannelIdentity
    let topic: Topic
}

/// A subscription that was not refused.
struct Subscription {
    /// The ticket of the last question to the channel's home.
    var ticket: UInt64
    /// Whether it was granted: the device is among the channel's subscribers.
    var isGranted = false
}

import PostriderCourier
import PostriderNotifications

/// What became of broadcasts.
struct BroadcastTally: Sendable, Equatable {
    /// Accepted by the home of their channel.
    var accepted: UInt64 = 0
    /// Written to a device's stream.
    var sent: UInt64 = 0
    /// Not written to a device's stream because too much was waiting there.
    var dropped: UInt64 = 0

    static func += (left: inout BroadcastTally, right: BroadcastTally) {
        left.accepted += right.accepted
        left.sent += right.sent
        left.dropped += right.dropped
    }
}

/// What a shard keeps of channels: those whose home it is, and who of its devices is subscribed to any.
struct ShardChannels {
    var desk = ChannelRegistry()
    var audience = Subscribers<DeviceSession>()
    var tally = BroadcastTally()
    /// The broadcast that was framed last: many devices subscribe to one channel at a time.
    var framed: (broadcast: Broadcast, frame: [UInt8])?

    /// The bytes that carry a broadcast to any device of this shard.
    mutating func frame(_ broadcast: Broadcast) -> [UInt8] {
        if let framed, framed.broadcast === broadcast { return framed.frame }
        let frame = frameBroadcast(broadcast)
        framed = (broadcast, frame)
        return frame
    }
}

/// A shard's three parts in the life of a channel: where its providers are, where it is at home, and where its
/// subscribers are.
extension Shard {
    /// Takes on the channels whose home this is.
    func restoreChannels(_ registry: Registry) {
        for record in registry.channels where record.owner.home(among: outbox.shardCount) == index {
            channels.desk.restore(record)
        }
        for broadcast in registry.broadcasts { channels.desk.restore(broadcast) }
    }

    func open(_ letter: ChannelLetter) {
        switch letter {
        case .order(let order, let owner, let receipt): work(off: order, of: owner, for: receipt)
        case .answer(let receipt, let answer): providers[receipt.connection]?.answer(receipt.stream, answer)
        case .subscribe(let request):
            let (isKnown, stored) = channels.desk.find(request, now: now)
            let letter = ChannelLetter.subscribed(request, isKnown: isKnown, stored)
            outbox.send(.channel(letter), to: request.shard)
        case .subscribed(let request, let isKnown, let stored): subscribed(request, isKnown: isKnown, stored)
        case .broadcast(let broadcast, let row): deliver(broadcast, row)
        case .removed(let channel): end(channel)
        }
    }

    // MARK: The home

    private func work(off order: ChannelOrder, of owner: ChannelOwner, for receipt: ReplyAddress) {
        if case .broadcast = order, (0..<outbox.shardCount).contains(where: outbox.isCongested) {
            outbox.send(.channel(.answer(receipt, .rejected(.tooManyRequests))), to: Int(receipt.shard))
            return
        }
        var effects: [ChannelRegistry.Effect] = []
        channels.desk.work(
            off: order, of: owner, for: receipt, now: now,
            draw: { ChannelIdentity(high: random.next(), low: random.next()) }, &effects)
        perform(effects)
    }

    private func perform(_ effects: [ChannelRegistry.Effect]) {
        for effect in effects {
            switch effect {
            case .answer(let receipt, let answer):
                outbox.send(.channel(.answer(receipt, answer)), to: Int(receipt.shard))
            case .apply(let change, let step):
                apply([change]) { [unowned self] result in
                    var effects: [ChannelRegistry.Effect] = []
                    channels.desk.applied(step, failure: result.failure?.rejection, &effects)
                    perform(effects)
                    if case .creation = step { removeForbiddenChannels() }
                }
            case .publish(let broadcast, let environment, let proof):
                publish(broadcast, in: environment, by: proof)
            case .announceEnd(let channel):
                outbox.sendToAll(.channel(.removed(channel)))
            }
        }
    }

    private func publish(_ broadcast: Broadcast, in environment: Environment, by proof: ProviderProof) {
        channels.tally.accepted += 1
        let row = rows.draw()
        trace.noteAccepted(broadcast, in: environment, by: proof, row, at: now)
        outbox.sendToAll(.channel(.broadcast(broadcast, row)))
    }

    /// Gives up stored broadcasts that have passed their expiration, and what a full disk or the relay's end kept from
    /// being removed.
    func sweepChannels() {
        var effects: [ChannelRegistry.Effect] = []
        channels.desk.sweep(now: now, &effects)
        perform(effects)
        removeForbiddenChannels()
    }

    /// Removes the channels of apps that the operator does not let have any, or not any more.
    func removeForbiddenChannels() {
        var effects: [ChannelRegistry.Effect] = []
        channels.desk.removeChannels(where: { !authority.broadcastTopics.contains($0.topic) }, &effects)
        perform(effects)
    }

    // MARK: Subscribers

    /// A device of this shard wants the broadcasts of a channel; the channel's home knows whether there is one.
    func subscribe(_ subscribe: Subscribe, by session: DeviceSession, at entry: DeviceEntry) {
        guard let topic = Topic(subscribe.topic), let number = entry.device.registration(of: topic) else {
            session.refuse(
                subscribe.channel, of: subscribe.topic, "The topic is not registered on this device.")
            return
        }
        let wish = DeviceSession.SubscriptionIntent(channel: subscribe.channel, topic: topic)
        let known = session.subscriptions[wish]
        guard known != nil || session.subscriptions.count < Limits.subscriptionsPerDevice else {
            session.refuse(subscribe.channel, of: subscribe.topic, "The device has too many subscriptions.")
            return
        }
        let request = SubscriptionRequest(
            channel: subscribe.channel,
            owner: ChannelOwner(topic: topic, environment: number.environment),
            wish: subscribe,
            shard: index,
            connection: session.number,
            ticket: drawNumber()
        )
        session.subscriptions[wish] = .init(ticket: request.ticket, isGranted: known?.isGranted ?? false)
        let home = request.owner.home(among: outbox.shardCount)
        outbox.send(.channel(.subscribe(request)), to: home)
    }

    /// The home has answered. From here on the channel's broadcasts come, in its order.
    private func subscribed(_ request: SubscriptionRequest, isKnown: Bool, _ stored: Broadcast?) {
        let wish = DeviceSession.SubscriptionIntent(channel: request.channel, topic: request.owner.topic)
        guard let session = devices[request.connection], session.subscriptions[wish]?.ticket == request.ticket
        else { return }
        guard isKnown else {
            end(wish, of: session)
            session.refuse(request.channel, of: wish.topic.text, "The app has no such channel.")
            return
        }
        channels.audience.add(session, to: request.channel)
        session.subscriptions[wish]?.isGranted = true
        session.say(.subscribed(request.channel))
        if let stored { send(channels.frame(stored), to: session) }
    }

    /// A device wants no more of them, whatever app of it did.
    func unsubscribe(_ channel: ChannelIdentity, by session: DeviceSession) {
        endSubscriptions(of: session) { $0.channel == channel }
    }

    /// An app is gone from a device, a channel is not wanted any more, or the device is gone: subscriptions end with
    /// it.
    func endSubscriptions(
        of session: DeviceSession, where isOver: (DeviceSession.SubscriptionIntent) -> Bool = { _ in true }
    ) {
        for wish in session.subscriptions.keys.filter(isOver) { end(wish, of: session) }
    }

    private func end(_ wish: DeviceSession.SubscriptionIntent, of session: DeviceSession) {
        guard session.subscriptions.removeValue(forKey: wish)?.isGranted == true else { return }
        channels.audience.remove(session, from: wish.channel)
    }

    private func deliver(_ broadcast: Broadcast, _ row: QueueRow) {
        let sessions = channels.audience[broadcast.channel]
        guard !sessions.isEmpty else { return }
        let frame = channels.frame(broadcast)
        let before = channels.tally
        for session in sessions { send(frame, to: session) }
        trace.noteBroadcast(
            row, sent: Int(channels.tally.sent - before.sent),
            skipped: Int(channels.tally.dropped - before.dropped), at: now)
    }

    /// A device that is leaving is not sent anything, and so not counted.
    private func send(_ frame: [UInt8], to session: DeviceSession) {
        guard session.isLinkOpen else { return }
        if session.broadcast(frame) { channels.tally.sent += 1 } else { channels.tally.dropped += 1 }
    }

    private func end(_ channel: ChannelIdentity) {
        for session in channels.audience.removeAll(from: channel) {
            let wishes = session.subscriptions.filter { $0.key.channel == channel && $0.value.isGranted }
            for wish in wishes.keys {
                session.subscriptions[wish] = nil
                session.refuse(channel, of: wish.topic.text, "The channel was deleted.")
            }
        }
    }
}

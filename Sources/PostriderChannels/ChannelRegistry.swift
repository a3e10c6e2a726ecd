import PostriderCourier
package import PostriderNotifications

/// The channels of the apps whose home is one shard. This is the only writer of the set of channels, of their stored
/// broadcasts and of the order of broadcasts.
///
/// Pure: requests come in as method calls with the time; what is to be done goes out as effects, in order. A change
/// takes effect, and is announced, once the ledger has made it durable.
package struct ChannelRegistry {
    /// What the home has to do for the registry.
    package enum Effect {
        /// Answer the provider.
        case answer(ReplyAddress, ChannelAnswer)
        /// Have the ledger make the change durable, then call ``ChannelRegistry/applied(_:failure:_:)``.
        case apply(RegistryChange, Step)
        /// Send the broadcast to every shard.
        case publish(Broadcast, Environment, ProviderProof)
        /// Tell every shard that the channel is gone.
        case announceEnd(ChannelIdentity)
    }

    /// A change that waits for the ledger.
    package enum Step: Sendable {
        case creation(ChannelRecord, ReplyAddress)
        /// The address is nil if nobody waits for an answer.
        case removal(ChannelIdentity, ReplyAddress?)
        case broadcast(Broadcast, Environment, ProviderProof, ReplyAddress)
        case expiry
    }

    private struct Channel {
        let record: ChannelRecord
        var stored: Broadcast?
        /// How many broadcasts wait for the ledger.
        var storing = 0
    }

    private var channels: [ChannelIdentity: Channel] = [:]
    /// The channels of each app.
    private var channelsByOwner: [ChannelOwner: AppChannels] = [:]

    /// No channels.
    package init() {}

    /// The number of channels.
    package var count: Int { channels.count }

    // MARK: Start-up

    /// Adds a channel that was read from the disk.
    package mutating func restore(_ record: ChannelRecord) {
        channels[record.identity] = Channel(record: record)
        channelsByOwner[record.owner, default: AppChannels()].count += 1
        channelsByOwner[record.owner]?.add(record)
    }

    /// Adds a stored broadcast that was read from the disk, after all channels were.
    package mutating func restore(_ broadcast: Broadcast) { channels[broadcast.channel]?.stored = broadcast }

    /// Forgets the channels of these apps, which another node decides about.
    package mutating func forget(where isElsewhere: (ChannelOwner) -> Bool) {
        for (identity, channel) in channels where isElsewhere(channel.record.owner) {
            channels[identity] = nil
        }
        channelsByOwner = channelsByOwner.filter { !isElsewhere($0.key) }
    }

    // MARK: Requests

    /// Carries out a provider's request. `draw` makes a new channel identity.
    package mutating func handle(
        _ command: ChannelCommand, of owner: ChannelOwner, for address: ReplyAddress, now: Moment,
        draw: () -> ChannelIdentity, _ effects: inout [Effect]
    ) {
        switch command {
        case .create(let storage):
            create(storage, owner, address, now, draw(), &effects)
        case .list:
            effects.append(.answer(address, .list(channelsByOwner[owner]?.list() ?? [])))
        case .read(let identity):
            let channel = channel(identity, of: owner)
            let answer = channel.map { ChannelAnswer.settings($0.record.storage) }
            effects.append(.answer(address, answer ?? .rejected(.channelNotRegistered)))
        case .remove(let identity):
            guard channel(identity, of: owner) != nil else {
                effects.append(.answer(address, .rejected(.channelNotRegistered)))
                return
            }
            effects.append(.apply(.removeChannel(identity), .removal(identity, address)))
        case .broadcast(let broadcast, let isNowOrNever, let proof):
            send(broadcast, isNowOrNever: isNowOrNever, by: proof, owner, address, &effects)
        }
    }

    private mutating func create(
        _ storage: ChannelStorage, _ owner: ChannelOwner, _ address: ReplyAddress, _ now: Moment,
        _ identity: ChannelIdentity, _ effects: inout [Effect]
    ) {
        guard channelsByOwner[owner]?.count ?? 0 < Limits.channelsPerApp else {
            effects.append(.answer(address, .rejected(.cannotCreateChannel)))
            return
        }
        channelsByOwner[owner, default: AppChannels()].count += 1
        let record = ChannelRecord(identity: identity, owner: owner, storage: storage, createdAt: now)
        effects.append(.apply(.putChannel(record), .creation(record, address)))
    }

    private mutating func send(
        _ broadcast: Broadcast, isNowOrNever: Bool, by proof: ProviderProof, _ owner: ChannelOwner,
        _ address: ReplyAddress, _ effects: inout [Effect]
    ) {
        guard let channel = channel(broadcast.channel, of: owner) else {
            effects.append(.answer(address, .rejected(.channelNotRegistered)))
            return
        }
        switch channel.record.storage {
        case .nothing where !isNowOrNever:
            effects.append(.answer(address, .rejected(.badExpirationDate)))
        case .nothing:
            effects += [.publish(broadcast, owner.environment, proof), .answer(address, .accepted)]
        case .mostRecent:
            channels[broadcast.channel]?.storing += 1
            // A broadcast that is not to be stored still removes the stored one: nothing old may follow something new.
            let change: RegistryChange =
                broadcast.expiration == .nowOrNever
                ? .removeBroadcast(of: broadcast.channel) : .putBroadcast(broadcast)
            effects.append(.apply(change, .broadcast(broadcast, owner.environment, proof, address)))
        }
    }

    // MARK: Answers of the ledger

    /// The ledger has made a change durable, or has failed to. Answers come in the order of the changes.
    ///
    /// - Parameter failure: the answer to the provider if it has failed.
    package mutating func applied(_ step: Step, failure: Rejection?, _ effects: inout [Effect]) {
        switch step {
        case .creation(let record, let address):
            if let failure {
                discount(record.owner)
                effects.append(.answer(address, .rejected(failure)))
            } else {
                channels[record.identity] = Channel(record: record)
                channelsByOwner[record.owner]?.add(record)
                effects.append(.answer(address, .created(record.identity)))
            }
        case .removal(let identity, let address):
            if failure == nil, let channel = channels.removeValue(forKey: identity) {
                channelsByOwner[channel.record.owner]?.remove(channel.record)
                discount(channel.record.owner)
                effects.append(.announceEnd(identity))
            }
            guard let address else { return }
            effects.append(.answer(address, failure.map { .rejected($0) } ?? .removed))
        case .broadcast(let broadcast, let environment, let proof, let address):
            channels[broadcast.channel]?.storing -= 1
            if let failure {
                effects.append(.answer(address, .rejected(failure)))
                return
            }
            channels[broadcast.channel]?.stored = broadcast.expiration == .nowOrNever ? nil : broadcast
            effects += [.publish(broadcast, environment, proof), .answer(address, .accepted)]
        case .expiry:
            break
        }
    }

    // MARK: Subscriptions

    /// Whether the channel exists that a device wants to subscribe to, and the stored broadcast to send to it.
    package func find(_ request: SubscriptionRequest, now: Moment) -> (isKnown: Bool, stored: Broadcast?) {
        guard let channel = channel(request.channel, of: request.owner) else { return (false, nil) }
        guard let stored = channel.stored, !request.wish.hasMadeSafe(stored), !stored.hasExpired(at: now)
        else { return (true, nil) }
        return (true, stored)
    }

    // MARK: Time and the operator

    /// Removes stored broadcasts that have expired.
    package mutating func sweep(
        now: Moment, where isServed: (ChannelOwner) -> Bool = { _ in true }, _ effects: inout [Effect]
    ) {
        let due = channels.values.filter {
            $0.storing == 0 && $0.stored?.hasExpired(at: now) ?? false && isServed($0.record.owner)
        }
        .map(\.record.identity).sorted()
        for identity in due {
            channels[identity]?.stored = nil
            effects.append(.apply(.removeBroadcast(of: identity), .expiry))
        }
    }

    /// Removes the channels of apps that may not have any.
    package func removeChannels(where isForbidden: (ChannelOwner) -> Bool, _ effects: inout [Effect]) {
        guard channelsByOwner.keys.contains(where: isForbidden) else { return }
        let due = channels.values.filter { isForbidden($0.record.owner) }.map(\.record.identity).sorted()
        for identity in due { effects.append(.apply(.removeChannel(identity), .removal(identity, nil))) }
    }

    /// The channels of an app, or all, the oldest first.
    ///
    /// - Parameter limit: no more than this are described.
    /// - Returns: their number, and the described ones.
    package func list(of topic: Topic?, limit: Int) -> (count: Int, channels: [ChannelSummary]) {
        let chosen = channels.values.filter { topic == nil || $0.record.owner.topic == topic }
            .map { ChannelSummary(record: $0.record, stored: $0.stored) }
        return (chosen.count, ChannelSummary.oldest(limit, of: chosen))
    }

    private func channel(_ identity: ChannelIdentity, of owner: ChannelOwner) -> Channel? {
        channels[identity].flatMap { $0.record.owner == owner ? $0 : nil }
    }

    private mutating func discount(_ owner: ChannelOwner) {
        channelsByOwner[owner]?.count -= 1
        if channelsByOwner[owner]?.count == 0 { channelsByOwner[owner] = nil }
    }
}

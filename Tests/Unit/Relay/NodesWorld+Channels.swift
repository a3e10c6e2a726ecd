import PostriderChannels
import PostriderCourier
import PostriderNotifications
import RelayFixtures

@testable import PostriderRelay

extension NodesWorld {
    // MARK: Providers

    /// A provider creates or deletes a channel or broadcasts, at any node; or a device subscribes.
    func stepChannels(deleting: Bool = true) {
        let kind = draw(0...39)
        switch kind {
        case 0..<4 where channels.all.count < 3, 0: createChannel()
        case 1 where deleting:
            if let index = one(of: channels.alive) {
                channels.all[index].deletionOrderedAt = step
                order(.remove(index))
            }
        case 2..<14:
            if let device = one(of: devices), let index = one(of: channels.alive) {
                device.channels.wanted.insert(index)
                subscribe(device, to: index)
            }
        default:
            let known = channels.all.indices.filter { channels.all[$0].identity != nil }
            if let index = one(of: known) { broadcast(to: index, isStored: kind < 36) }
        }
    }

    private func createChannel() {
        guard let topic = one(of: NodesWorldChannels.topics) else { return }
        channels.all.append(
            NodesWorldChannel(
                owner: ChannelOwner(topic: topic, environment: .production),
                storage: draw(0...3) == 0 ? .nothing : .mostRecent))
        order(.create(channels.all.count - 1))
    }

    /// Broadcasts at any node.
    func broadcast(to index: Int, isStored: Bool) {
        guard let place = place() else { return }
        channels.broadcasts.append(
            NodesWorldBroadcast(
                number: channels.broadcasts.count, channel: index,
                isStored: isStored && channels.all[index].storage == .mostRecent, place: place,
                postedAt: step, audience: isCalm ? audience(of: index) : []))
        order(.broadcast(channels.broadcasts.count - 1), at: place)
    }

    private func audience(of index: Int) -> [(device: NodesWorldDevice, link: NodesWorldLink)] {
        devices.compactMap { device in
            guard let link = device.link, link.isOpen, device.channels.confirmed.contains(index) else {
                return nil
            }
            return (device, link)
        }
    }

    private func place() -> (node: FixtureNode, shard: Int)? {
        one(of: nodes.filter { $0.isAwake && $0 !== retiring })
            .map { ($0, draw(0...$0.shards.count - 1)) }
    }

    private func order(_ wish: NodesWorldChannels.Wish, at chosen: (node: FixtureNode, shard: Int)? = nil) {
        guard let (node, shard) = chosen ?? place() else { return }
        channels.lastOrder += 1
        channels.orders.append(
            NodesWorldChannels.Order(wish: wish, node: node, number: channels.lastOrder))
        let (content, index) = command(wish)
        node.order(content, of: channels.all[index].owner, as: channels.lastOrder, at: shard)
    }

    private func command(_ wish: NodesWorldChannels.Wish) -> (ChannelCommand, channel: Int) {
        switch wish {
        case .create(let index): return (.create(channels.all[index].storage), index)
        case .remove(let index): return (.remove(identity(index)), index)
        case .broadcast(let number):
            let broadcast = channels.broadcasts[number]
            let now = Moment(milliseconds: fixture.clock.wallMilliseconds)
            let end = Samples.now.advanced(byMilliseconds: 3_600_000)
            let content = Broadcast(
                identity: broadcast.identity, channel: identity(broadcast.channel),
                topic: channels.all[broadcast.channel].owner.topic, payload: Array("{}".utf8),
                priority: .immediate, expiration: broadcast.isStored ? .at(end) : .nowOrNever,
                pushType: .liveactivity, acceptedAt: now)
            return (
                .broadcast(content, isNowOrNever: !broadcast.isStored, by: .certificate), broadcast.channel
            )
        }
    }

    private func identity(_ index: Int) -> ChannelIdentity {
        channels.all[index].identity ?? ChannelIdentity(high: 0, low: 0)
    }

    // MARK: Answers

    func noteOrders() {
        let open = channels.orders
        channels.orders = []
        for order in open {
            if let answer = order.node.answers[order.number] {
                answered(order.wish, answer)
            } else if order.node.isAlive {
                channels.orders.append(order)
            } else if case .broadcast(let number) = order.wish {
                channels.broadcasts[number].status = .unknown
            }
        }
    }

    private func answered(_ wish: NodesWorldChannels.Wish, _ answer: ChannelAnswer) {
        switch (wish, answer) {
        case (.create(let index), .created(let identity)):
            if channels.index(of: identity) != nil { report(.channels, "a channel's name is given twice") }
            channels.all[index].identity = identity
        case (.remove(let index), .removed): channels.all[index].deletedAt = step
        case (.broadcast(let number), .accepted): accepted(number)
        case (_, .rejected(.serviceUnavailable)), (_, .rejected(.tooManyRequests)):
            if isCalm { report(.calm, "\(wish) is answered \(answer)") }
            if case .broadcast(let number) = wish { channels.broadcasts[number].status = .unknown }
        case (.broadcast(let number), .rejected(.channelNotRegistered))
        where channels.all[channels.broadcasts[number].channel].deletionOrderedAt != nil:
            channels.broadcasts[number].status = .unknown
        default: report(.channels, "\(wish) is answered \(answer)")
        }
    }

    private func accepted(_ number: Int) {
        channels.broadcasts[number].status = .accepted
        channels.broadcasts[number].answeredAt = step
        let broadcast = channels.broadcasts[number]
        if let end = channels.all[broadcast.channel].deletedAt, end < broadcast.postedAt {
            report(.channels, "broadcast \(number) is accepted, and its channel was deleted before")
        }
        after(1_000) { [unowned self] in
            for (device, link) in broadcast.audience where device.link === link && device.goodbye == nil {
                guard device.channels.heard[broadcast.channel]?.contains(number) != true else { continue }
                report(.broadcasts, "device \(device.identity) was subscribed and has missed \(number)")
            }
        }
    }

    // MARK: Devices

    private func subscribe(_ device: NodesWorldDevice, to index: Int) {
        guard let identity = channels.all[index].identity else { return }
        let last = device.channels.last[index]
        device.link?.send(
            .subscribe(
                Subscribe(
                    topic: channels.all[index].owner.topic.text, channel: identity, last: last?.identity,
                    lastAcceptedAt: last?.acceptedAt)))
    }

    func heard(_ event: DeviceLink.Event, by device: NodesWorldDevice) {
        switch event {
        case .welcomed:
            if device.link?.node.name != fixture.owner(of: device.identity) { notePassage() }
            for index in device.channels.wanted.sorted() { subscribe(device, to: index) }
        case .subscribed(let identity):
            if let index = channels.index(of: identity) { device.channels.confirmed.insert(index) }
        case .unsubscribed(let end):
            guard let index = channels.index(of: end.channel) else { break }
            if channels.all[index].deletionOrderedAt == nil {
                report(.channels, "device \(device.identity) is not subscribed to \(index): \(end.reason)")
            }
            device.channels.wanted.remove(index)
        case .broadcast(let deliver):
            guard let index = deliver.channel.flatMap({ channels.index(of: $0) }) else {
                return report(.channels, "a broadcast comes of a channel that nobody knows")
            }
            heard(Int(deliver.identity.low), of: index, deliver.acceptedAt, by: device)
        default: break
        }
    }

    private func heard(_ number: Int, of index: Int, _ moment: Moment, by device: NodesWorldDevice) {
        let (broadcast, heard) = (channels.broadcasts[number], device.channels.heard[index] ?? [])
        guard !heard.contains(number) else { return }
        if let younger = heard.first(where: { broadcast.precedes(channels.broadcasts[$0]) }) {
            report(
                .broadcasts,
                "device \(device.identity) gets broadcast \(number) of channel \(index) after \(younger)")
        }
        device.channels.heard[index, default: []].append(number)
        device.channels.last[index] = (broadcast.identity, moment)
    }

    // MARK: The end

    /// Whether each device has the answers to its subscriptions.
    var areSubscribed: Bool {
        let alive = Set(channels.alive)
        return devices.allSatisfy {
            alive.intersection($0.channels.wanted).isSubset(of: $0.channels.confirmed)
        }
    }

    /// After a connection each subscriber has what its channels store.
    func checkStored() {
        for index in channels.alive where channels.all[index].storage == .mostRecent {
            let last = channels.lastOnes(of: index)
            guard !last.isEmpty, last.allSatisfy({ $0.isStored && $0.status == .accepted }) else { continue }
            let numbers = Set(last.map(\.number))
            for device in devices where device.channels.wanted.contains(index) {
                guard numbers.isDisjoint(with: device.channels.heard[index] ?? []) else { continue }
                report(
                    .broadcasts, "device \(device.identity) has not the last of channel \(index): \(numbers)")
            }
        }
    }

    /// Broadcasts to every channel, which reaches all subscribers over their present links.
    func checkSubscriptions(_ wait: () throws -> Void) rethrows {
        let first = channels.broadcasts.count
        for index in channels.alive { broadcast(to: index, isStored: true) }
        try wait()
        for broadcast in channels.broadcasts[first...] {
            if broadcast.status != .accepted {
                report(.rest, "broadcast \(broadcast.number) is not accepted")
            }
            for device in devices where device.channels.wanted.contains(broadcast.channel) {
                guard device.channels.heard[broadcast.channel]?.contains(broadcast.number) != true else {
                    continue
                }
                report(
                    .broadcasts,
                    "device \(device.identity) is subscribed and does not hear broadcast \(broadcast.number)")
            }
        }
    }
}

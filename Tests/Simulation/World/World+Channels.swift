import PostriderChannels
import PostriderCourier
import PostriderNotifications

@testable import PostriderRelay

/// The observer's knowledge of a channel.
struct SimulatedChannel {
    let topic: String
    let environment: PostriderNotifications.Environment
    let storage: ChannelStorage
    /// The identity, once the channel's creation is answered.
    var identity: ChannelIdentity?
    /// The number of the event in which the deletion was first requested.
    var deletionAskedAt: Int?
    /// The number of the event in which a deletion was answered with 204.
    var deletedAt: Int?
}

/// A broadcast as its provider sees it.
struct SimulatedBroadcast {
    let number: Int
    let channel: Int
    /// The expiration; nil for a now-or-never broadcast.
    let expiresAt: Moment?
    let sentAt: Int
    var status: Int?
    var answeredAt: Int?

    var identity: NotificationIdentity { NotificationIdentity(high: 0xB, low: UInt64(number)) }
    var payload: [UInt8] {
        Array(#"{"n":\#(number),"pad":"\#(String(repeating: "x", count: number % 5 * 300))"}"#.utf8)
    }
}

/// A provider's request about channels.
enum ChannelWish {
    case create(Int)
    case delete(Int)
    case broadcast(Int)
}

/// All channels of a run and their broadcasts.
struct SimulatedChannels {
    var all: [SimulatedChannel] = []
    var broadcasts: [SimulatedBroadcast] = []
    /// The number of broadcasts that devices received for the first time.
    var heard = 0
    /// The number of those that had been accepted before the device subscribed.
    var replayed = 0

    var alive: [Int] {
        all.indices.filter { all[$0].identity != nil && all[$0].deletionAskedAt == nil }
    }

    func index(of identity: ChannelIdentity) -> Int? { all.firstIndex { $0.identity == identity } }

    /// Returns the broadcasts of a channel that may be the last accepted one.
    func lastOnes(of channel: Int, _ surfaced: Set<NotificationIdentity>) -> [SimulatedBroadcast] {
        let mine = broadcasts.filter {
            $0.channel == channel && ($0.status == 200 || $0.status == nil || surfaced.contains($0.identity))
        }
        return mine.filter { one in
            one.answeredAt.map { answered in !mine.contains { $0.status == 200 && $0.sentAt > answered } }
                ?? true
        }
    }
}

extension World {
    // MARK: What may happen

    func stepChannels() {
        switch chance.number(0...19) {
        case 0: createChannel()
        case 1 where channels.alive.count < 3: createChannel()
        case 1 where chance.once(in: 3): deleteChannel()
        case 2..<10: subscribeSomebody()
        default: broadcast()
        }
    }

    private func createChannel() {
        guard let provider = chance.pick(providers) else { return }
        let topic = chance.pick(Self.topics) ?? Self.topics[0]
        let channel = SimulatedChannel(
            topic: topic, environment: provider.environment,
            storage: chance.once(in: 3) ? .nothing : .mostRecent)
        if provider.send(.create(channels.all.count), self, topic, channel.storage) {
            channels.all.append(channel)
            findings.count()
        }
    }

    private func deleteChannel() {
        guard let index = chance.pick(channels.alive), let provider = provider(for: index) else { return }
        guard provider.send(.delete(index), self, channels.all[index].topic) else { return }
        channels.all[index].deletionAskedAt = events
        findings.count()
    }

    /// Returns a provider of the channel's environment.
    private func provider(for index: Int) -> SimulatedProvider? {
        chance.pick(providers.filter { $0.environment == channels.all[index].environment })
    }

    private func subscribeSomebody() {
        guard let device = chance.pick(devices),
            let index = chance.pick(
                channels.alive.filter {
                    device.wanted[channels.all[$0].topic] == channels.all[$0].environment
                })
        else { return }
        findings.count()
        if chance.once(in: 5) {
            device.channels.remove(index)
            device.session?.unsubscribe(from: index)
        } else {
            device.channels.insert(index)
            device.session?.subscribe(to: index)
        }
    }

    private func broadcast() {
        let candidates = channels.all.indices.filter { channels.all[$0].identity != nil }
        guard let index = chance.pick(candidates), let provider = provider(for: index) else { return }
        let isNowOrNever = channels.all[index].storage == .nothing || chance.once(in: 8)
        let lifetime = chance.once(in: 4) ? chance.number(1_000...15_000) : 3_600_000
        let until = now.milliseconds + Int64(lifetime)
        send(index, until: isNowOrNever ? nil : Moment(seconds: until / 1000), by: provider)
    }

    private func send(_ index: Int, until moment: Moment?, by provider: SimulatedProvider) {
        let broadcast = SimulatedBroadcast(
            number: channels.broadcasts.count, channel: index, expiresAt: moment, sentAt: events)
        channels.broadcasts.append(broadcast)
        if provider.send(.broadcast(broadcast.number), self, channels.all[index].topic) {
            findings.count()
        } else {
            channels.broadcasts[broadcast.number].status = 0
        }
    }

    // MARK: What the observer is told

    private func expect(_ holds: Bool, _ sentence: @autoclosure () -> String) {
        findings.expect(holds, .channels, sentence())
    }

    func answered(_ wish: ChannelWish, _ status: Int, _ identity: ChannelIdentity?) {
        switch wish {
        case .create(let index):
            expect([201, 429, 503].contains(status), "channel \(index) was answered \(status)")
            expect((status == 201) == (identity != nil), "channel \(index), \(status), has a name or has not")
            expect(
                identity.map { channels.index(of: $0) == nil } ?? true, "a channel's name is reissued")
            channels.all[index].identity = identity
        case .delete(let index):
            expect([204, 429, 503].contains(status), "the end of channel \(index) was answered \(status)")
            if status == 204 { channels.all[index].deletedAt = events }
        case .broadcast(let number):
            let broadcast = channels.broadcasts[number]
            let channel = channels.all[broadcast.channel]
            expect(broadcast.status == nil, "broadcast \(number) is answered twice")
            expect([200, 400, 429, 503].contains(status), "broadcast \(number) was answered \(status)")
            expect(
                status != 400 || channel.deletionAskedAt != nil, "the channel of broadcast \(number) is there"
            )
            expect(
                status != 200 || channel.deletedAt.map { $0 >= broadcast.sentAt } ?? true,
                "the channel of broadcast \(number) is gone")
            channels.broadcasts[number].status = status
            channels.broadcasts[number].answeredAt = events
        }
    }

    /// Takes a broadcast at a device, which subscribed to the channel at `asked`.
    func heard(
        _ deliver: Deliver, by device: SimulatedDevice, isNewestLink: Bool,
        asked: (event: Int, stamp: Stamp)?
    ) {
        let number = Int(deliver.identity.low)
        guard channels.broadcasts.indices.contains(number), let identity = deliver.channel,
            let index = channels.index(of: identity)
        else { return expect(false, "a broadcast comes that nobody sent") }
        let broadcast = channels.broadcasts[number]
        expect(
            broadcast.channel == index && deliver.topic == channels.all[index].topic
                && deliver.payload == broadcast.payload && deliver.delivery == 0,
            "broadcast \(number) is not what was sent, or not where")
        expect(
            broadcast.status ?? 200 == 200 || disk.surfacedBroadcasts.contains(broadcast.identity),
            "broadcast \(number) was refused and comes")
        if let asked, let answeredAt = broadcast.answeredAt, broadcast.status == 200, answeredAt < asked.event
        {
            channels.replayed += 1
            expect(
                channels.all[index].storage == .mostRecent, "broadcast \(number) was not to be stored")
            let earliest = clock.span(since: asked.stamp).lowerBound
            expect(
                broadcast.expiresAt.map { $0.milliseconds > earliest } ?? false,
                "broadcast \(number) is replayed too late")
        }
        guard device.knownBroadcasts.insert(number).inserted else { return }
        channels.heard += 1
        device.lastBroadcast[identity] = deliver.identity
        guard isNewestLink else { return }
        let youngest = device.youngestBroadcast[index] ?? 0
        if let answeredAt = broadcast.answeredAt {
            expect(
                answeredAt >= youngest,
                "broadcast \(number) comes after one that was sent when it was accepted")
        }
        device.youngestBroadcast[index] = max(youngest, broadcast.sentAt)
    }

    // MARK: The end

    /// With everybody connected and nothing under way, checks that stored broadcasts are there and that a new one
    /// reaches all.
    func checkChannels() {
        for device in devices {
            for index in device.channels where channels.all[index].deletionAskedAt == nil {
                checkStored(index, device)
            }
        }
        let alive = channels.alive
        let first = channels.broadcasts.count
        for index in alive {
            if let provider = provider(for: index) { send(index, until: nil, by: provider) }
        }
        let last = channels.broadcasts[first...]
        restFully()
        for broadcast in last where channels.broadcasts[broadcast.number].answeredAt != nil {
            expect(
                channels.broadcasts[broadcast.number].status == 200,
                "a last broadcast was answered \(channels.broadcasts[broadcast.number].status ?? 0)")
            for device in devices where device.channels.contains(broadcast.channel) {
                expect(
                    device.knownBroadcasts.contains(broadcast.number),
                    "device \(device.index) is subscribed to channel \(broadcast.channel) and hears nothing")
            }
        }
        // A channel whose deletion was requested and failed may still have its subscribers.
        let undeleted = channels.all.indices.filter { channels.all[$0].deletedAt == nil }
        let least = devices.reduce(0) { sum, device in sum + device.channels.filter(alive.contains).count }
        let most = devices.reduce(0) { sum, device in sum + device.channels.filter(undeleted.contains).count }
        let audience = relay.shards.reduce(0) { $0 + $1.devices.subscriptions.subscribers.count }
        expect(
            (least...most).contains(audience), "\(audience) are in the audience, of \(least) to \(most)")
        let count = relay.shards.reduce(0) { $0 + $1.channels.registry.count }
        expect(count >= alive.count, "the relay knows \(count) channels of \(alive.count)")
    }

    private func checkStored(_ index: Int, _ device: SimulatedDevice) {
        let last = channels.lastOnes(of: index, disk.surfacedBroadcasts)
        let soon = clock.latest + 60_000
        guard channels.all[index].storage == .mostRecent, !last.isEmpty,
            last.allSatisfy({ $0.status == 200 && ($0.expiresAt?.milliseconds ?? 0) > soon })
        else { return }
        // A now-or-never broadcast that was refused with an unknown result may have removed the stored one.
        let hasEnded = channels.broadcasts.contains { one in
            one.channel == index && one.expiresAt == nil && one.status != 200
                && last.contains { $0.sentAt < one.answeredAt ?? .max }
        }
        guard !hasEnded else { return }
        expect(
            last.contains { device.knownBroadcasts.contains($0.number) },
            "device \(device.index) has not the last broadcast of channel \(index)")
    }
}

import PostriderCourier
import PostriderNotifications
import RelayFixtures
import Testing

@testable import PostriderChannels

@Suite("The registry of channels")
struct ChannelRegistryTests {
    private static let owner = ChannelOwner(topic: Samples.topic, environment: .production)
    private static let now = Samples.now

    /// A channel registry and a ledger that obeys the test.
    private struct Rig {
        var registry = ChannelRegistry()
        /// The changes that the registry has asked the ledger for and that are not committed, oldest first.
        var waiting: [(change: RegistryChange, step: ChannelRegistry.Step)] = []
        var answers: [Int: ChannelAnswer] = [:]
        var published: [Broadcast] = []
        var ended: [ChannelIdentity] = []
        private var lastStream = 0
        private var lastName: UInt64 = 0

        mutating func order(_ order: ChannelOrder, of owner: ChannelOwner = owner) -> Int {
            lastStream += 1
            lastName += 1
            let name = ChannelIdentity(high: 7, low: lastName)
            var effects: [ChannelRegistry.Effect] = []
            registry.work(
                off: order, of: owner, for: Samples.replyAddress(lastStream), now: now, draw: { name },
                &effects)
            take(effects)
            return lastStream
        }

        mutating func commit(failure: Rejection? = nil) {
            while !waiting.isEmpty {
                var effects: [ChannelRegistry.Effect] = []
                registry.applied(waiting.removeFirst().step, failure: failure, &effects)
                take(effects)
            }
        }

        mutating func sweep(at moment: Moment) {
            var effects: [ChannelRegistry.Effect] = []
            registry.sweep(now: moment, &effects)
            take(effects)
        }

        mutating func create(_ storage: ChannelStorage, of owner: ChannelOwner = owner) throws
            -> ChannelIdentity
        {
            let stream = order(.create(storage), of: owner)
            commit()
            guard case .created(let identity) = answers[stream] else {
                throw Failure(sentence: "\(String(describing: answers[stream]))")
            }
            return identity
        }

        func find(
            _ channel: ChannelIdentity, last: NotificationIdentity? = nil, lastAcceptedAt: Moment? = nil,
            at moment: Moment = now
        )
            -> (isKnown: Bool, stored: Broadcast?)
        {
            registry.find(
                SubscriptionRequest(
                    channel: channel, owner: owner,
                    wish: Subscribe(
                        topic: owner.topic.text, channel: channel, last: last,
                        lastAcceptedAt: lastAcceptedAt),
                    shard: 0, connection: 1, ticket: 1),
                now: moment)
        }

        mutating func take(_ effects: [ChannelRegistry.Effect]) {
            for effect in effects {
                switch effect {
                case .answer(let address, let answer):
                    #expect(answers[Int(address.stream)] == nil, "an order is answered once")
                    answers[Int(address.stream)] = answer
                case .apply(let change, let step): waiting.append((change, step))
                case .publish(let broadcast, _, _): published.append(broadcast)
                case .announceEnd(let channel): ended.append(channel)
                }
            }
        }
    }

    private struct Failure: Error { let sentence: String }

    private func broadcast(
        _ number: UInt64, to channel: ChannelIdentity,
        until expiration: Expiration = .at(now.advanced(byMilliseconds: 1000))
    ) -> Broadcast {
        Broadcast(
            identity: NotificationIdentity(high: 1, low: number), channel: channel, topic: Samples.topic,
            payload: Array("{}".utf8), priority: .immediate, expiration: expiration, pushType: .liveactivity,
            acceptedAt: Self.now)
    }

    @Test("A channel is there when it is durable, and the provider learns its name then")
    func creation() throws {
        var rig = Rig()
        let first = rig.order(.create(.mostRecent))
        #expect(rig.answers[first] == nil && rig.registry.count == 0)
        rig.commit()
        guard case .created(let identity) = rig.answers[first] else { throw Failure(sentence: "none") }
        let read = rig.order(.read(identity))
        #expect(rig.answers[read] == .settings(.mostRecent) && rig.find(identity).isKnown)
        let second = rig.order(.create(.nothing))
        rig.commit(failure: .internalServerError)
        #expect(rig.answers[second] == .rejected(.internalServerError) && rig.registry.count == 1)
        let list = rig.order(.list)
        #expect(rig.answers[list] == .list([identity]))
    }

    @Test("Channels belong to one app in one environment")
    func ownership() throws {
        var rig = Rig()
        let identity = try rig.create(.nothing)
        for stranger in [
            ChannelOwner(topic: Samples.topic, environment: .development),
            ChannelOwner(topic: Samples.otherTopic, environment: .production),
        ] {
            let orders: [ChannelOrder] = [
                .read(identity), .remove(identity),
                .broadcast(
                    broadcast(1, to: identity, until: .nowOrNever), isNowOrNever: true, by: .certificate),
            ]
            for order in orders {
                let stream = rig.order(order, of: stranger)
                #expect(rig.answers[stream] == .rejected(.channelNotRegistered))
            }
            let list = rig.order(.list, of: stranger)
            #expect(rig.answers[list] == .list([]))
        }
    }

    @Test("An app has ten thousand channels at most, those included that are on their way")
    func limit() throws {
        var rig = Rig()
        let streams = (0..<Limits.channelsPerApp + 1).map { _ in rig.order(.create(.nothing)) }
        #expect(rig.answers[streams[Limits.channelsPerApp]] == .rejected(.cannotCreateChannel))
        rig.commit()
        guard case .created(let first) = rig.answers[streams[0]] else { throw Failure(sentence: "none") }
        let refused = rig.order(.create(.nothing))
        #expect(rig.answers[refused] == .rejected(.cannotCreateChannel))
        _ = rig.order(.remove(first))
        rig.commit()
        _ = try rig.create(.nothing)
        _ = try rig.create(.nothing, of: ChannelOwner(topic: Samples.topic, environment: .development))
    }

    @Test("What is deleted is gone when that is durable, with what it has stored, and everybody is told")
    func removal() throws {
        var rig = Rig()
        let identity = try rig.create(.mostRecent)
        let failed = rig.order(.remove(identity))
        rig.commit(failure: .internalServerError)
        #expect(rig.answers[failed] == .rejected(.internalServerError) && rig.ended.isEmpty)
        let done = rig.order(.remove(identity))
        #expect(rig.answers[done] == nil && rig.find(identity).isKnown)
        rig.commit()
        #expect(rig.answers[done] == .removed && rig.ended == [identity] && !rig.find(identity).isKnown)
        let again = rig.order(.remove(identity))
        #expect(rig.answers[again] == .rejected(.channelNotRegistered))
    }

    @Test("A channel that stores nothing publishes at once, and takes only what is now or never")
    func storesNothing() throws {
        var rig = Rig()
        let identity = try rig.create(.nothing)
        let sent = rig.order(
            .broadcast(broadcast(1, to: identity, until: .nowOrNever), isNowOrNever: true, by: .certificate))
        #expect(rig.answers[sent] == .accepted && rig.published.count == 1 && rig.waiting.isEmpty)
        for expiration in [Expiration.nowOrNever, .at(Self.now.advanced(byMilliseconds: 5))] {
            let refused = rig.order(
                .broadcast(
                    broadcast(2, to: identity, until: expiration), isNowOrNever: false, by: .certificate))
            #expect(rig.answers[refused] == .rejected(.badExpirationDate))
        }
        #expect(rig.published.count == 1 && rig.find(identity).stored == nil)
    }

    @Test("A channel that stores keeps the newest, and publishes what is durable, in order")
    func storesMostRecent() throws {
        var rig = Rig()
        let identity = try rig.create(.mostRecent)
        let all = (1...3).map { broadcast($0, to: identity) }
        let streams = all.map { rig.order(.broadcast($0, isNowOrNever: false, by: .certificate)) }
        #expect(rig.published.isEmpty && streams.allSatisfy { rig.answers[$0] == nil })
        rig.commit()
        #expect(rig.published == all && streams.allSatisfy { rig.answers[$0] == .accepted })
        #expect(rig.find(identity).stored == all[2])
        let failed = rig.order(.broadcast(broadcast(4, to: identity), isNowOrNever: false, by: .certificate))
        rig.commit(failure: .internalServerError)
        #expect(rig.answers[failed] == .rejected(.internalServerError) && rig.published.count == 3)
        #expect(rig.find(identity).stored == all[2], "what was promised stays")
    }

    @Test("A device is given what is stored unless it has it, or it is too late")
    func replay() throws {
        var rig = Rig()
        let identity = try rig.create(.mostRecent)
        let stored = broadcast(1, to: identity)
        _ = rig.order(.broadcast(stored, isNowOrNever: false, by: .certificate))
        rig.commit()
        #expect(rig.find(identity).stored == stored)
        #expect(rig.find(identity, last: NotificationIdentity(high: 1, low: 9)).stored == stored)
        #expect(rig.find(identity, last: stored.identity) == (true, nil))
        // Another broadcast may have had the same identity before.
        #expect(
            rig.find(identity, last: stored.identity, lastAcceptedAt: stored.acceptedAt) == (true, nil))
        let before = stored.acceptedAt.advanced(byMilliseconds: -1)
        #expect(rig.find(identity, last: stored.identity, lastAcceptedAt: before).stored == stored)
        #expect(rig.find(identity, at: Self.now.advanced(byMilliseconds: 1000)) == (true, nil))
        // A newer broadcast that is not stored removes the stored one, so that no old broadcast follows a newer one.
        _ = rig.order(
            .broadcast(broadcast(2, to: identity, until: .nowOrNever), isNowOrNever: true, by: .certificate))
        rig.commit()
        #expect(rig.find(identity) == (true, nil))
    }

    @Test("What has expired is swept, but never what is younger")
    func sweep() throws {
        var rig = Rig()
        let identity = try rig.create(.mostRecent)
        _ = rig.order(.broadcast(broadcast(1, to: identity), isNowOrNever: false, by: .certificate))
        rig.commit()
        rig.sweep(at: Self.now.advanced(byMilliseconds: 999))
        #expect(rig.waiting.isEmpty)
        let late = Self.now.advanced(byMilliseconds: 1000)
        let younger = broadcast(2, to: identity, until: .at(late.advanced(byMilliseconds: 50)))
        _ = rig.order(.broadcast(younger, isNowOrNever: false, by: .certificate))
        rig.sweep(at: late)
        #expect(rig.waiting.count == 1, "one that is on its way to the disk will replace it")
        rig.commit()
        rig.sweep(at: late)
        #expect(rig.waiting.isEmpty && rig.find(identity, at: late).stored == younger)
        rig.sweep(at: late.advanced(byMilliseconds: 50))
        #expect(rig.waiting.map(\.change) == [.removeBroadcast(of: identity)])
    }

    @Test("What was on the disk is there again")
    func restoring() throws {
        var rig = Rig()
        let record = ChannelRecord(
            identity: ChannelIdentity(high: 1, low: 1), owner: Self.owner, storage: .mostRecent,
            createdAt: Self.now)
        rig.registry.restore(record)
        rig.registry.restore(broadcast(1, to: record.identity))
        rig.registry.restore(broadcast(2, to: ChannelIdentity(high: 9, low: 9)))
        #expect(rig.find(record.identity).stored?.identity == NotificationIdentity(high: 1, low: 1))
        #expect(!rig.find(ChannelIdentity(high: 9, low: 9)).isKnown)
    }

    @Test("An app that may not have channels any more loses those that it has, and no other does")
    func forbidden() throws {
        var rig = Rig()
        let other = ChannelOwner(topic: Samples.otherTopic, environment: .production)
        let (mine, theirs) = (try rig.create(.nothing), try rig.create(.nothing, of: other))
        var effects: [ChannelRegistry.Effect] = []
        rig.registry.removeChannels(where: { $0 == Self.owner }, &effects)
        rig.take(effects)
        rig.commit()
        #expect(rig.ended == [mine] && rig.registry.count == 1 && theirs != mine)
    }
}

@Suite("An audience")
struct SubscribersTests {
    private final class Member {}

    @Test("is whoever has joined and not left, in an order that is always the same")
    func membership() {
        let (first, second) = (ChannelIdentity(high: 0, low: 1), ChannelIdentity(high: 0, low: 2))
        let members = (0..<5).map { _ in Member() }
        var audience = Subscribers<Member>()
        for member in members { audience.add(member, to: first) }
        audience.add(members[1], to: first)
        audience.add(members[1], to: second)
        func holds(_ expected: [Int]) -> Bool {
            audience[first].map { ObjectIdentifier($0) } == expected.map { ObjectIdentifier(members[$0]) }
        }
        #expect(audience.count == 6 && holds([0, 1, 2, 3, 4]))
        audience.remove(members[1], from: first)
        audience.remove(members[1], from: first)
        #expect(holds([0, 4, 2, 3]))
        audience.remove(members[4], from: first)
        #expect(holds([0, 3, 2]))
        #expect(audience[second].count == 1 && audience.count == 4)
        #expect(audience.removeAll(from: first).count == 3 && audience.count == 1)
        audience.remove(members[1], from: second)
        #expect(audience.count == 0 && audience[second].isEmpty)
    }
}

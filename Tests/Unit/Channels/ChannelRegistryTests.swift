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
    private struct Home {
        var registry = ChannelRegistry()
        /// The changes that the registry has asked the ledger for and that are not committed, oldest first.
        var waiting: [(change: RegistryChange, step: ChannelRegistry.Step)] = []
        var answers: [Int: ChannelAnswer] = [:]
        var published: [Broadcast] = []
        var ended: [ChannelIdentity] = []
        private var (lastStream, lastName) = (0, UInt64(0))

        mutating func order(_ order: ChannelCommand, of owner: ChannelOwner = owner) -> Int {
            lastStream += 1
            lastName += 1
            let name = ChannelIdentity(high: 7, low: lastName)
            var effects: [ChannelRegistry.Effect] = []
            registry.handle(
                order, of: owner, for: Samples.replyAddress(lastStream), now: now, draw: { name },
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
        var home = Home()
        let first = home.order(.create(.mostRecent))
        #expect(home.answers[first] == nil && home.registry.count == 0)
        home.commit()
        guard case .created(let identity) = home.answers[first] else { throw Failure(sentence: "none") }
        let read = home.order(.read(identity))
        #expect(home.answers[read] == .settings(.mostRecent) && home.find(identity).isKnown)
        let second = home.order(.create(.nothing))
        home.commit(failure: .internalServerError)
        #expect(home.answers[second] == .rejected(.internalServerError) && home.registry.count == 1)
        let list = home.order(.list)
        #expect(home.answers[list] == .list([identity]))
    }

    @Test("Channels belong to one app in one environment")
    func ownership() throws {
        var home = Home()
        let identity = try home.create(.nothing)
        for stranger in [
            ChannelOwner(topic: Samples.topic, environment: .development),
            ChannelOwner(topic: Samples.otherTopic, environment: .production),
        ] {
            let orders: [ChannelCommand] = [
                .read(identity), .remove(identity),
                .broadcast(
                    broadcast(1, to: identity, until: .nowOrNever), isNowOrNever: true, by: .certificate),
            ]
            for order in orders {
                let stream = home.order(order, of: stranger)
                #expect(home.answers[stream] == .rejected(.channelNotRegistered))
            }
            let list = home.order(.list, of: stranger)
            #expect(home.answers[list] == .list([]))
        }
    }

    @Test("An app has ten thousand channels at most, those included that are on their way")
    func limit() throws {
        var home = Home()
        let streams = (0..<Limits.channelsPerApp + 1).map { _ in home.order(.create(.nothing)) }
        #expect(home.answers[streams[Limits.channelsPerApp]] == .rejected(.cannotCreateChannel))
        home.commit()
        guard case .created(let first) = home.answers[streams[0]] else { throw Failure(sentence: "none") }
        let refused = home.order(.create(.nothing))
        #expect(home.answers[refused] == .rejected(.cannotCreateChannel))
        _ = home.order(.remove(first))
        home.commit()
        _ = try home.create(.nothing)
        _ = try home.create(.nothing, of: ChannelOwner(topic: Samples.topic, environment: .development))
    }

    @Test("What is deleted is gone when that is durable, with what it has stored, and everybody is told")
    func removal() throws {
        var home = Home()
        let identity = try home.create(.mostRecent)
        let failed = home.order(.remove(identity))
        home.commit(failure: .internalServerError)
        #expect(home.answers[failed] == .rejected(.internalServerError) && home.ended.isEmpty)
        let done = home.order(.remove(identity))
        #expect(home.answers[done] == nil && home.find(identity).isKnown)
        home.commit()
        #expect(
            home.answers[done] == .removed && home.ended == [identity]
                && !home.find(identity).isKnown)
        let again = home.order(.remove(identity))
        #expect(home.answers[again] == .rejected(.channelNotRegistered))
    }

    @Test("A channel that stores nothing publishes at once, and takes only what is now or never")
    func storesNothing() throws {
        var home = Home()
        let identity = try home.create(.nothing)
        let sent = home.order(
            .broadcast(broadcast(1, to: identity, until: .nowOrNever), isNowOrNever: true, by: .certificate))
        #expect(home.answers[sent] == .accepted && home.published.count == 1 && home.waiting.isEmpty)
        for expiration in [Expiration.nowOrNever, .at(Self.now.advanced(byMilliseconds: 5))] {
            let refused = home.order(
                .broadcast(
                    broadcast(2, to: identity, until: expiration), isNowOrNever: false, by: .certificate))
            #expect(home.answers[refused] == .rejected(.badExpirationDate))
        }
        #expect(home.published.count == 1 && home.find(identity).stored == nil)
    }

    @Test("A channel that stores keeps the newest, and publishes what is durable, in order")
    func storesMostRecent() throws {
        var home = Home()
        let identity = try home.create(.mostRecent)
        let all = (1...3).map { broadcast($0, to: identity) }
        let streams = all.map { home.order(.broadcast($0, isNowOrNever: false, by: .certificate)) }
        #expect(home.published.isEmpty && streams.allSatisfy { home.answers[$0] == nil })
        home.commit()
        #expect(home.published == all && streams.allSatisfy { home.answers[$0] == .accepted })
        #expect(home.find(identity).stored == all[2])
        let failed = home.order(
            .broadcast(broadcast(4, to: identity), isNowOrNever: false, by: .certificate))
        home.commit(failure: .internalServerError)
        #expect(home.answers[failed] == .rejected(.internalServerError) && home.published.count == 3)
        #expect(home.find(identity).stored == all[2], "what was promised stays")
    }

    @Test("A device is given what is stored unless it has it, or it is too late")
    func replay() throws {
        var home = Home()
        let identity = try home.create(.mostRecent)
        let stored = broadcast(1, to: identity)
        _ = home.order(.broadcast(stored, isNowOrNever: false, by: .certificate))
        home.commit()
        #expect(home.find(identity).stored == stored)
        #expect(home.find(identity, last: NotificationIdentity(high: 1, low: 9)).stored == stored)
        #expect(home.find(identity, last: stored.identity) == (true, nil))
        // Another broadcast may have had the same identity before.
        #expect(
            home.find(identity, last: stored.identity, lastAcceptedAt: stored.acceptedAt) == (true, nil))
        let before = stored.acceptedAt.advanced(byMilliseconds: -1)
        #expect(home.find(identity, last: stored.identity, lastAcceptedAt: before).stored == stored)
        #expect(home.find(identity, at: Self.now.advanced(byMilliseconds: 1000)) == (true, nil))
        // A newer broadcast that is not stored removes the stored one, so that no old broadcast follows a newer one.
        _ = home.order(
            .broadcast(broadcast(2, to: identity, until: .nowOrNever), isNowOrNever: true, by: .certificate))
        home.commit()
        #expect(home.find(identity) == (true, nil))
    }

    @Test("What has expired is swept, but never what is younger")
    func sweep() throws {
        var home = Home()
        let identity = try home.create(.mostRecent)
        _ = home.order(.broadcast(broadcast(1, to: identity), isNowOrNever: false, by: .certificate))
        home.commit()
        home.sweep(at: Self.now.advanced(byMilliseconds: 999))
        #expect(home.waiting.isEmpty)
        let late = Self.now.advanced(byMilliseconds: 1000)
        let younger = broadcast(2, to: identity, until: .at(late.advanced(byMilliseconds: 50)))
        _ = home.order(.broadcast(younger, isNowOrNever: false, by: .certificate))
        home.sweep(at: late)
        #expect(home.waiting.count == 1, "one that is on its way to the disk will replace it")
        home.commit()
        home.sweep(at: late)
        #expect(home.waiting.isEmpty && home.find(identity, at: late).stored == younger)
        home.sweep(at: late.advanced(byMilliseconds: 50))
        #expect(home.waiting.map(\.change) == [.removeBroadcast(of: identity)])
    }

    @Test("What was on the disk is there again")
    func restoring() throws {
        var home = Home()
        let record = ChannelRecord(
            identity: ChannelIdentity(high: 1, low: 1), owner: Self.owner, storage: .mostRecent,
            createdAt: Self.now)
        home.registry.restore(record)
        home.registry.restore(broadcast(1, to: record.identity))
        home.registry.restore(broadcast(2, to: ChannelIdentity(high: 9, low: 9)))
        #expect(home.find(record.identity).stored?.identity == NotificationIdentity(high: 1, low: 1))
        #expect(!home.find(ChannelIdentity(high: 9, low: 9)).isKnown)
    }

    @Test("An app that may not have channels any more loses those that it has, and no other does")
    func forbidden() throws {
        var home = Home()
        let other = ChannelOwner(topic: Samples.otherTopic, environment: .production)
        let (mine, theirs) = (try home.create(.nothing), try home.create(.nothing, of: other))
        var effects: [ChannelRegistry.Effect] = []
        home.registry.removeChannels(where: { $0 == Self.owner }, &effects)
        home.take(effects)
        home.commit()
        #expect(home.ended == [mine] && home.registry.count == 1 && theirs != mine)
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

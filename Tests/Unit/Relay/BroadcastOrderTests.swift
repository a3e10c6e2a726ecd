import PostriderNotifications
import RelayFixtures
import Testing

@testable import PostriderRelay

@Suite("The order of broadcasts on one shard of a node")
struct BroadcastOrderTests {
    private static let channel = DeviceFixture.channel
    private var order = BroadcastOrder()

    private static func broadcast(_ number: UInt64) -> Broadcast {
        Broadcast(
            identity: NotificationIdentity(high: 8, low: number), channel: channel, topic: Samples.topic,
            payload: Array("{}".utf8), priority: .immediate, expiration: .nowOrNever,
            pushType: .liveactivity, acceptedAt: Samples.now)
    }

    private mutating func take(_ row: Int64) -> [UInt64: QueueRow]? {
        order.take(Self.broadcast(UInt64(row)), QueueRow(row))
    }

    private func newest(after row: Int64) -> UInt64? {
        order.newest(of: Self.channel, after: QueueRow(row))?.identity.low
    }

    @Test("takes none that is older than one that has come")
    mutating func older() {
        order.asked(about: Self.channel)
        #expect(take(5) == [:])
        #expect(take(4) == nil && take(5) == nil)
        #expect(take(6) == [:])
    }

    @Test("names the subscribers whose answers are newer than a broadcast, until they are not")
    mutating func grants() {
        order.asked(about: Self.channel)
        order.grant(Self.channel, to: 1, at: QueueRow(3))
        order.grant(Self.channel, to: 2, at: QueueRow(7))
        #expect(take(5) == [2: QueueRow(7)])
        #expect(take(8) == [:])
        order.grant(Self.channel, to: 3, at: QueueRow(10))
        order.end(of: Self.channel, for: 3)
        #expect(take(9) == [:])
    }

    @Test("knows what has come before the answer to a device that waits for it")
    mutating func overtaken() {
        order.asked(about: Self.channel)
        #expect(take(5) == [:])
        #expect(newest(after: 4) == 5 && newest(after: 6) == nil)
        // Nodes of an earlier version say nothing about their order.
        #expect(newest(after: 0) == nil)
    }

    @Test("keeps nothing of channels that no device here waits for, or is subscribed to")
    mutating func unused() {
        #expect(take(5) == nil)
        order.asked(about: Self.channel)
        #expect(take(4) == [:])
        order.forget(Self.channel)
        #expect(take(3) == nil)
        order.answered(about: Self.channel)
        order.forget(Self.channel)
        #expect(newest(after: 1) == nil)
        order.asked(about: Self.channel)
        #expect(take(3) == [:])
    }
}

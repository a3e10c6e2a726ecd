import PostriderCourier
import PostriderNotifications
import PostriderSeededRandom
import RelayFixtures
import Testing

@testable import PostriderDeviceQueue
@testable import PostriderRelay

@Suite("A push to a device that is there, and the ledger")
struct AckLatencyTests {
    private let fixture: DeviceFixture
    private let line: DeviceClientConnection

    init() throws {
        fixture = try DeviceFixture()
        line = try fixture.connect()
    }

    /// The stores and settlements that the ledger has been asked for and has not made.
    private var mail: [String] {
        fixture.ledger.mail.compactMap { message in
            switch message {
            case .store(let queued, _): "store \(queued.row.value)"
            case .settle(let row): "settle \(row.value)"
            default: nil
            }
        }
    }

    /// Lets the time for an acknowledgement pass, and some turns of the loop.
    private func wait() throws {
        for _ in 0..<SendTime.turns {
            try fixture.advance(byMilliseconds: Limits.acknowledgementMilliseconds)
        }
    }

    private func acknowledge(afterMilliseconds interval: Int) throws {
        try fixture.advance(byMilliseconds: interval)
        line.acknowledgeAll()
        try fixture.run()
    }

    @Test("one that is acknowledged at once never comes to it")
    func prompt() throws {
        try fixture.push(1)
        try acknowledge(afterMilliseconds: Limits.acknowledgementMilliseconds - 1)
        try fixture.advance(byMilliseconds: 1000)
        #expect(mail == [] && fixture.shard.home.tally.delivered == 1)
    }

    @Test(
        "one that is not goes to it after a moment, the next at once until one is acknowledged in time"
    )
    func late() throws {
        try fixture.push(1)
        #expect(mail == [])
        try wait()
        #expect(mail == ["store 1"])
        try fixture.push(2)
        #expect(mail == ["store 1", "store 2"])
        try wait()
        try acknowledge(afterMilliseconds: 0)
        try fixture.push(3)
        #expect(mail == ["store 1", "store 2", "settle 1", "settle 2", "store 3"])
        try fixture.commit()
        try acknowledge(afterMilliseconds: 1)
        try fixture.push(4)
        #expect(mail == ["settle 3"])
    }

    @Test("one for a device that is away goes to it at once")
    func absent() throws {
        line.session.leave(.replaced, "enough")
        try fixture.run()
        try fixture.push(1)
        #expect(mail == ["store 1"])
    }

    @Test("one whose time is over never comes to it")
    func expired() throws {
        let notification = Samples.notification(
            1, expiration: .at(Samples.now), device: DeviceFixture.identity(0))
        fixture.shard.context.outbox.send(.push(.deliver(notification, Samples.replyAddress(1))), to: 0)
        try fixture.run()
        try wait()
        #expect(mail == [] && fixture.shard.home.tally.expired == 1)
    }

    @Test("what is held goes to it when the relay stops, and nothing is held any more")
    func draining() throws {
        try fixture.push(1)
        var messages: [ShardMessage] = [.lifecycle(.drain)]
        fixture.shard.receive(&messages)
        try fixture.run()
        #expect(mail == ["store 1"])
    }
}

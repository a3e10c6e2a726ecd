import PostriderCourier
import PostriderNotifications
import PostriderSeededRandom
import RelayFixtures
import Testing

@testable import PostriderDeviceQueue
@testable import PostriderRelay

@Suite("A push to a device that is there, and the ledger")
struct AckLatencyTests {
    private let house: DeviceHouse
    private let line: DeviceLine

    init() throws {
        house = try DeviceHouse()
        line = try house.connect()
    }

    /// The stores and settlements that the ledger has been asked for and has not made.
    private var mail: [String] {
        house.ledger.mail.compactMap { message in
            switch message {
            case .store(let queued, _): "store \(queued.row.value)"
            case .settle(let row): "settle \(row.value)"
            default: nil
            }
        }
    }

    /// Lets the time for an acknowledgement pass, and some turns of the loop.
    private func wait() throws {
        for _ in 0..<SendTime.turns { try house.advance(byMilliseconds: Limits.acknowledgementMilliseconds) }
    }

    private func acknowledge(afterMilliseconds interval: Int) throws {
        try house.advance(byMilliseconds: interval)
        line.acknowledgeAll()
        try house.run()
    }

    @Test("one that is acknowledged at once never comes to it")
    func prompt() throws {
        try house.push(1)
        try acknowledge(afterMilliseconds: Limits.acknowledgementMilliseconds - 1)
        try house.advance(byMilliseconds: 1000)
        #expect(mail == [] && house.shard.home.tally.delivered == 1)
    }

    @Test(
        "one that is not goes to it after a moment, the next at once until one is acknowledged in time"
    )
    func late() throws {
        try house.push(1)
        #expect(mail == [])
        try wait()
        #expect(mail == ["store 1"])
        try house.push(2)
        #expect(mail == ["store 1", "store 2"])
        try wait()
        try acknowledge(afterMilliseconds: 0)
        try house.push(3)
        #expect(mail == ["store 1", "store 2", "settle 1", "settle 2", "store 3"])
        try house.commit()
        try acknowledge(afterMilliseconds: 1)
        try house.push(4)
        #expect(mail == ["settle 3"])
    }

    @Test("one for a device that is away goes to it at once")
    func absent() throws {
        line.session.leave(.replaced, "enough")
        try house.run()
        try house.push(1)
        #expect(mail == ["store 1"])
    }

    @Test("one whose time is over never comes to it")
    func expired() throws {
        let notification = Samples.notification(
            1, expiration: .at(Samples.now), device: DeviceHouse.identity(0))
        house.shard.context.outbox.send(.push(.deliver(notification, Samples.replyAddress(1))), to: 0)
        try house.run()
        try wait()
        #expect(mail == [] && house.shard.home.tally.expired == 1)
    }

    @Test("what is held goes to it when the relay stops, and nothing is held any more")
    func draining() throws {
        try house.push(1)
        var messages: [ShardMessage] = [.lifecycle(.drain)]
        house.shard.receive(&messages)
        try house.run()
        #expect(mail == ["store 1"])
    }
}

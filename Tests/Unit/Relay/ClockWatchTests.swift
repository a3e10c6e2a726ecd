import PostriderCourier
import PostriderEndpoints
import PostriderNotifications
import PostriderTransport
import Testing

@testable import PostriderDeviceQueue
@testable import PostriderRelay

@Suite("A relay whose clock is set")
struct ClockWatchTests {
    private static let day: Int64 = 24 * 60 * 60 * 1000
    private static let hour = 60 * 60 * 1000

    /// Makes a shard with one stored push for an absent device.
    private static func houseWithOneWaiting() throws -> DeviceHouse {
        let house = try DeviceHouse()
        house.shard.start()
        try house.push(1)
        try house.commit()
        return house
    }

    @Test(
        "keeps what waits for absent devices for an hour, should the clock have been put forward by mistake")
    func mistake() throws {
        let house = try Self.houseWithOneWaiting()
        house.clock.shiftMilliseconds = 365 * Self.day
        try house.advance(byMilliseconds: Self.hour / 2)
        #expect(house.shard.home.tally.pending == 1)
        house.clock.shiftMilliseconds = -Int64(Self.hour / 2)
        try house.advance(byMilliseconds: 20_000)
        let line = try house.connect()
        try house.commit()
        #expect(line.delivered == [1])
    }

    @Test("says so once each time that its clock is put forward by more than an hour")
    func told() throws {
        let house = try Self.houseWithOneWaiting()
        var warnings: [String] { house.logged.filter { $0.level == .warning }.map(\.text) }
        house.clock.shiftMilliseconds = Int64(Self.hour)
        try house.advance(byMilliseconds: 30_000)
        #expect(warnings == [])
        house.clock.shiftMilliseconds = 365 * Self.day
        try house.advance(byMilliseconds: Self.hour / 2)
        #expect(warnings.count == 1)
        #expect(warnings.first?.contains("the clock was put forward by more than an hour") == true)
        try house.advance(byMilliseconds: Self.hour)
        house.clock.shiftMilliseconds = 2 * 365 * Self.day
        try house.advance(byMilliseconds: 30_000)
        #expect(warnings.count == 2)
    }

    @Test("gives up what it has accepted by a clock 31 days behind once that is put right")
    func behind() throws {
        let house = try DeviceHouse()
        house.shard.start()
        // Later than the expiration of any push that is accepted by this clock.
        let latest = house.shard.context.now.advanced(byMilliseconds: Limits.storedDays * Self.day)
        try house.push(1, until: latest)
        try house.commit()
        house.clock.shiftMilliseconds = 31 * Self.day
        try house.advance(byMilliseconds: 10_000)
        #expect(house.shard.home.tally.pending == 1)
        try house.advance(byMilliseconds: Self.hour)
        #expect(house.shard.home.tally.pending == 0 && house.shard.home.tally.expired == 1)
    }

    @Test("keeps a stored broadcast for an hour, should the clock have been put forward by mistake")
    func broadcast() throws {
        let house = try DeviceHouse()
        house.shard.start()
        house.makeChannel(storing: 1)
        house.clock.shiftMilliseconds = 365 * Self.day
        try house.advance(byMilliseconds: Self.hour - 30_000)
        #expect(house.ledger.removedBroadcasts == [])
        try house.advance(byMilliseconds: 60_000)
        #expect(house.ledger.removedBroadcasts == [DeviceHouse.channel])
    }

    @Test("counts a device that it saw by a clock that ran ahead as seen until that moment has passed")
    func ahead() throws {
        let house = try DeviceHouse(rules: DeviceRules(expiryMilliseconds: 1, returnMilliseconds: 0))
        house.shard.start()
        house.clock.shiftMilliseconds = 2 * Self.day
        let line = try house.connect()
        line.session.endpoint.closed(.peerClosed)
        try house.run()
        house.clock.shiftMilliseconds = 0
        try house.push(1)
        #expect(house.shard.home.tally.accepted == 1)
        house.clock.shiftMilliseconds = 2 * Self.day
        // The clock is trusted again after an hour.
        try house.advance(byMilliseconds: Self.hour + 20_000)
        try house.push(2)
        #expect(house.shard.home.tally.accepted == 1)
    }

    @Test("gives up what has expired by the new clock an hour later")
    func newTime() throws {
        let house = try Self.houseWithOneWaiting()
        house.clock.shiftMilliseconds = 365 * Self.day
        try house.advance(byMilliseconds: Self.hour - 30_000)
        #expect(house.shard.home.tally.pending == 1)
        try house.advance(byMilliseconds: 60_000)
        #expect(house.shard.home.tally.pending == 0 && house.shard.home.tally.expired == 1)
    }

    @Test("gives up what has expired at once where time has merely passed")
    func usual() throws {
        let house = try Self.houseWithOneWaiting()
        house.clock.shiftMilliseconds = 600_000
        try house.advance(byMilliseconds: 10_000)
        #expect(house.shard.home.tally.expired == 1)
    }

    @Test("sends nothing that has expired by its clock, whatever it keeps")
    func returns() throws {
        let house = try Self.houseWithOneWaiting()
        house.clock.shiftMilliseconds = 365 * Self.day
        try house.advance(byMilliseconds: 10_000)
        let line = try house.connect()
        try house.commit()
        #expect(line.delivered == [] && house.shard.home.tally.expired == 1)
    }

    @Test("calls no device's token expired before the device has had an hour to return to it")
    func start() throws {
        let house = try DeviceHouse(rules: DeviceRules(expiryMilliseconds: 1))
        house.shard.start()
        try house.advance(byMilliseconds: 1000)
        try house.push(1)
        try house.advance(byMilliseconds: Self.hour)
        #expect(house.shard.home.tally.accepted == 1)
        try house.push(2)
        #expect(house.shard.home.tally.accepted == 1)
    }

    @Test("calls no token expired right after the clock was put forward")
    func forward() throws {
        let house = try DeviceHouse(rules: DeviceRules(expiryMilliseconds: Self.day))
        house.shard.start()
        try house.advance(byMilliseconds: Self.hour)
        house.clock.shiftMilliseconds = 365 * Self.day
        try house.push(1)
        #expect(house.shard.home.tally.accepted == 1)
        try house.advance(byMilliseconds: Self.hour)
        try house.push(2)
        #expect(house.shard.home.tally.accepted == 1)
    }
}

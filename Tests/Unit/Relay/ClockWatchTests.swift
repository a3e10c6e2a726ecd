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
    private static func houseWithOneWaiting() throws -> DeviceFixture {
        let fixture = try DeviceFixture()
        fixture.shard.start()
        try fixture.push(1)
        try fixture.commit()
        return fixture
    }

    @Test(
        "keeps what waits for absent devices for an hour, should the clock have been put forward by mistake")
    func mistake() throws {
        let fixture = try Self.houseWithOneWaiting()
        fixture.clock.shiftMilliseconds = 365 * Self.day
        try fixture.advance(byMilliseconds: Self.hour / 2)
        #expect(fixture.shard.home.tally.pending == 1)
        fixture.clock.shiftMilliseconds = -Int64(Self.hour / 2)
        try fixture.advance(byMilliseconds: 20_000)
        let line = try fixture.connect()
        try fixture.commit()
        #expect(line.delivered == [1])
    }

    @Test("says so once each time that its clock is put forward by more than an hour")
    func told() throws {
        let fixture = try Self.houseWithOneWaiting()
        var warnings: [String] { fixture.logged.filter { $0.level == .warning }.map(\.text) }
        fixture.clock.shiftMilliseconds = Int64(Self.hour)
        try fixture.advance(byMilliseconds: 30_000)
        #expect(warnings == [])
        fixture.clock.shiftMilliseconds = 365 * Self.day
        try fixture.advance(byMilliseconds: Self.hour / 2)
        #expect(warnings.count == 1)
        #expect(warnings.first?.contains("the clock was put forward by more than an hour") == true)
        try fixture.advance(byMilliseconds: Self.hour)
        fixture.clock.shiftMilliseconds = 2 * 365 * Self.day
        try fixture.advance(byMilliseconds: 30_000)
        #expect(warnings.count == 2)
    }

    @Test("gives up what it has accepted by a clock 31 days behind once that is put right")
    func behind() throws {
        let fixture = try DeviceFixture()
        fixture.shard.start()
        // Later than the expiration of any push that is accepted by this clock.
        let latest = fixture.shard.context.now.advanced(byMilliseconds: Limits.storedDays * Self.day)
        try fixture.push(1, until: latest)
        try fixture.commit()
        fixture.clock.shiftMilliseconds = 31 * Self.day
        try fixture.advance(byMilliseconds: 10_000)
        #expect(fixture.shard.home.tally.pending == 1)
        try fixture.advance(byMilliseconds: Self.hour)
        #expect(fixture.shard.home.tally.pending == 0 && fixture.shard.home.tally.expired == 1)
    }

    @Test("keeps a stored broadcast for an hour, should the clock have been put forward by mistake")
    func broadcast() throws {
        let fixture = try DeviceFixture()
        fixture.shard.start()
        fixture.makeChannel(storing: 1)
        fixture.clock.shiftMilliseconds = 365 * Self.day
        try fixture.advance(byMilliseconds: Self.hour - 30_000)
        #expect(fixture.ledger.removedBroadcasts == [])
        try fixture.advance(byMilliseconds: 60_000)
        #expect(fixture.ledger.removedBroadcasts == [DeviceFixture.channel])
    }

    @Test("counts a device that it saw by a clock that ran ahead as seen until that moment has passed")
    func ahead() throws {
        let fixture = try DeviceFixture(rules: DeviceRules(expiryMilliseconds: 1, returnMilliseconds: 0))
        fixture.shard.start()
        fixture.clock.shiftMilliseconds = 2 * Self.day
        let line = try fixture.connect()
        line.session.endpoint.closed(.peerClosed)
        try fixture.run()
        fixture.clock.shiftMilliseconds = 0
        try fixture.push(1)
        #expect(fixture.shard.home.tally.accepted == 1)
        fixture.clock.shiftMilliseconds = 2 * Self.day
        // The clock is trusted again after an hour.
        try fixture.advance(byMilliseconds: Self.hour + 20_000)
        try fixture.push(2)
        #expect(fixture.shard.home.tally.accepted == 1)
    }

    @Test("gives up what has expired by the new clock an hour later")
    func newTime() throws {
        let fixture = try Self.houseWithOneWaiting()
        fixture.clock.shiftMilliseconds = 365 * Self.day
        try fixture.advance(byMilliseconds: Self.hour - 30_000)
        #expect(fixture.shard.home.tally.pending == 1)
        try fixture.advance(byMilliseconds: 60_000)
        #expect(fixture.shard.home.tally.pending == 0 && fixture.shard.home.tally.expired == 1)
    }

    @Test("gives up what has expired at once where time has merely passed")
    func usual() throws {
        let fixture = try Self.houseWithOneWaiting()
        fixture.clock.shiftMilliseconds = 600_000
        try fixture.advance(byMilliseconds: 10_000)
        #expect(fixture.shard.home.tally.expired == 1)
    }

    @Test("sends nothing that has expired by its clock, whatever it keeps")
    func returns() throws {
        let fixture = try Self.houseWithOneWaiting()
        fixture.clock.shiftMilliseconds = 365 * Self.day
        try fixture.advance(byMilliseconds: 10_000)
        let line = try fixture.connect()
        try fixture.commit()
        #expect(line.delivered == [] && fixture.shard.home.tally.expired == 1)
    }

    @Test("calls no device's token expired before the device has had an hour to return to it")
    func start() throws {
        let fixture = try DeviceFixture(rules: DeviceRules(expiryMilliseconds: 1))
        fixture.shard.start()
        try fixture.advance(byMilliseconds: 1000)
        try fixture.push(1)
        try fixture.advance(byMilliseconds: Self.hour)
        #expect(fixture.shard.home.tally.accepted == 1)
        try fixture.push(2)
        #expect(fixture.shard.home.tally.accepted == 1)
    }

    @Test("calls no token expired right after the clock was put forward")
    func forward() throws {
        let fixture = try DeviceFixture(rules: DeviceRules(expiryMilliseconds: Self.day))
        fixture.shard.start()
        try fixture.advance(byMilliseconds: Self.hour)
        fixture.clock.shiftMilliseconds = 365 * Self.day
        try fixture.push(1)
        #expect(fixture.shard.home.tally.accepted == 1)
        try fixture.advance(byMilliseconds: Self.hour)
        try fixture.push(2)
        #expect(fixture.shard.home.tally.accepted == 1)
    }
}

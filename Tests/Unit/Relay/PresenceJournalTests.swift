import PostriderCourier
import PostriderEndpoints
import PostriderNotifications
import PostriderTransport
import RelayFixtures
import Testing

@testable import PostriderRelay

@Suite("The presence of devices")
struct PresenceJournalTests {
    private func presences(_ house: DeviceHouse) -> [DevicePresence] {
        house.ledger.changes.compactMap {
            if case .putPresence(let record) = $0 { record.presence } else { nil }
        }
    }

    private func runs(_ house: DeviceHouse) -> [RelayRun] {
        house.ledger.changes.compactMap { if case .noteRun(let run) = $0 { run } else { nil } }
    }

    private func presence(_ house: DeviceHouse, _ number: Int = 0) throws -> DevicePresence {
        try #require(house.shard.home.entries[DeviceHouse.identity(number)]).presence.value
    }

    private func relay(devices: Int = 1) throws -> DeviceHouse {
        let house = try DeviceHouse(devices: devices)
        house.shard.start()
        return house
    }

    @Test("goes to the registry a second after a device has connected, with those that came in that second")
    func connecting() throws {
        let house = try relay(devices: 3)
        for number in 0..<3 { _ = try house.connect(number) }
        #expect(presences(house).isEmpty)
        try house.advance(byMilliseconds: Limits.presenceMilliseconds)
        #expect(presences(house).map(\.isConnected) == [true, true, true])
        #expect(presences(house).allSatisfy { $0.agent == "test/1" && $0.since == Samples.now })
        #expect(house.ledger.mail.count == 1 && runs(house).count == 1)
    }

    @Test("of a device that comes and goes is written once in a minute, as it is then")
    func flapping() throws {
        let house = try relay()
        let line = try house.connect()
        try house.advance(byMilliseconds: Limits.presenceMilliseconds)
        try house.commit()
        house.shard.devices.left(line.session)
        for _ in 0..<5 {
            try house.advance(byMilliseconds: 10_000)
            #expect(presences(house).isEmpty)
        }
        _ = try house.connect()
        try house.advance(byMilliseconds: 20_000)
        #expect(presences(house).map(\.isConnected) == [true])
    }

    @Test("is not written for a push")
    func pushes() throws {
        let house = try relay()
        let line = try house.connect()
        try house.advance(byMilliseconds: Limits.presenceMilliseconds)
        try house.commit()
        for number in 1...20 { try house.push(UInt64(number)) }
        line.acknowledgeAll()
        try house.run()
        #expect(house.ledger.changes.isEmpty)
    }

    @Test("of devices that stay connected takes one note of the relay in half a minute")
    func staying() throws {
        let house = try relay(devices: 3)
        for number in 0..<3 { _ = try house.connect(number) }
        try house.advance(byMilliseconds: 20_000)
        try house.commit()
        for _ in 0..<4 { try house.advance(byMilliseconds: 10_000) }
        #expect(presences(house).isEmpty)
        #expect((1...2).contains(runs(house).count))
        #expect(runs(house).allSatisfy { !$0.isStopped })
    }

    @Test("that the disk refuses is written again")
    func failure() throws {
        let house = try relay()
        _ = try house.connect()
        try house.advance(byMilliseconds: Limits.presenceMilliseconds)
        try house.commit(isDurable: false)
        for _ in 0..<7 { try house.advance(byMilliseconds: 10_000) }
        #expect(presences(house).map(\.isConnected) == [true])
    }

    @Test("is as it was when the relay is stopped: that the devices leave with it is not written")
    func stopping() throws {
        let house = try relay()
        _ = try house.connect()
        house.shard.drain()
        try house.run()
        try house.advance(byMilliseconds: 10_000)
        #expect(presences(house).map(\.isConnected) == [true])
        #expect(runs(house).map(\.isStopped) == [true])
        #expect(try presence(house).ending == .relayStopped)
    }

    @Test("says how the device left")
    func endings() throws {
        let house = try relay(devices: 4)
        let sleeper = try house.connect(0)
        sleeper.say(.goodbye(Goodbye(reason: .asleep, retryAfterMilliseconds: 0, detail: "")))
        let stopped = try house.connect(1)
        stopped.say(.goodbye(Goodbye(reason: .shutdown, retryAfterMilliseconds: 0, detail: "")))
        let cut = try house.connect(2)
        let replaced = try house.connect(3)
        try house.run()
        cut.session.endpoint.closed(.peerReset)
        _ = try house.connect(3)
        #expect(try presence(house, 0).ending == .asleep)
        #expect(try presence(house, 1).ending == .goodbye)
        #expect(
            try presence(house, 2)
                == DevicePresence(
                    isConnected: false, since: Samples.now, address: presence(house, 2).address,
                    agent: "test/1", ending: .cut))
        #expect(try presence(house, 3).isConnected && presence(house, 3).ending == .replaced)
        #expect(replaced.goodbye?.reason == .replaced)
    }

    @Test("is told to nobody while nobody listens, and at the end of the turn to who does")
    func events() throws {
        let house = try relay()
        _ = try house.connect()
        var told: [Control.DeviceEvent] = []
        house.shard.directory.events.observe { told += $0 }
        #expect(told.isEmpty)
        let line = try house.connect()
        house.shard.devices.left(line.session)
        try house.run()
        #expect(told.map(\.what) == [.connected, .away])
        #expect(told.allSatisfy { $0.identity == DeviceHouse.identity(0).description && $0.name == "device" })
    }

    @Test("of an earlier run is known: who was connected is away since the relay was last known to run")
    func earlierRun() throws {
        let house = try DeviceHouse(devices: 2)
        var registry = Registry()
        let late = Samples.now.advanced(byMilliseconds: -5_000)
        registry.lastRun = RelayRun(startedAt: Moment(milliseconds: 1), aliveAt: late)
        registry.presences = [
            PresenceRecord(
                device: DeviceHouse.identity(0),
                presence: DevicePresence(
                    isConnected: true, since: Moment(milliseconds: 7), address: "::1", agent: "a/1")),
            PresenceRecord(
                device: DeviceHouse.identity(1),
                presence: DevicePresence(
                    isConnected: false, since: Moment(milliseconds: 9), address: "::2", agent: "a/1",
                    ending: .silent)),
        ]
        house.shard.home.restorePresence(registry)
        #expect(
            try presence(house)
                == DevicePresence(
                    isConnected: false, since: late, address: "::1", agent: "a/1", ending: .relayFailed))
        #expect(try presence(house, 1) == registry.presences[1].presence)
    }
}

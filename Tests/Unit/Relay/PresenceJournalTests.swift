import PostriderCourier
import PostriderEndpoints
import PostriderNotifications
import PostriderTransport
import RelayFixtures
import Testing

@testable import PostriderRelay

@Suite("The presence of devices")
struct PresenceJournalTests {
    private func presences(_ fixture: DeviceFixture) -> [DevicePresence] {
        fixture.ledger.changes.compactMap {
            if case .putPresence(let record) = $0 { record.presence } else { nil }
        }
    }

    private func runs(_ fixture: DeviceFixture) -> [RelayRun] {
        fixture.ledger.changes.compactMap { if case .noteRun(let run) = $0 { run } else { nil } }
    }

    private func presence(_ fixture: DeviceFixture, _ number: Int = 0) throws -> DevicePresence {
        try #require(fixture.shard.home.entries[DeviceFixture.identity(number)]).presence.value
    }

    private func relay(devices: Int = 1) throws -> DeviceFixture {
        let fixture = try DeviceFixture(devices: devices)
        fixture.shard.start()
        return fixture
    }

    @Test("goes to the registry a second after a device has connected, with those that came in that second")
    func connecting() throws {
        let fixture = try relay(devices: 3)
        for number in 0..<3 { _ = try fixture.connect(number) }
        #expect(presences(fixture).isEmpty)
        try fixture.advance(byMilliseconds: Limits.presenceMilliseconds)
        #expect(presences(fixture).map(\.isConnected) == [true, true, true])
        #expect(presences(fixture).allSatisfy { $0.agent == "test/1" && $0.since == Samples.now })
        #expect(fixture.ledger.mail.count == 1 && runs(fixture).count == 1)
    }

    @Test("of a device that comes and goes is written once in a minute, as it is then")
    func flapping() throws {
        let fixture = try relay()
        let line = try fixture.connect()
        try fixture.advance(byMilliseconds: Limits.presenceMilliseconds)
        try fixture.commit()
        fixture.shard.devices.left(line.session)
        for _ in 0..<5 {
            try fixture.advance(byMilliseconds: 10_000)
            #expect(presences(fixture).isEmpty)
        }
        _ = try fixture.connect()
        try fixture.advance(byMilliseconds: 20_000)
        #expect(presences(fixture).map(\.isConnected) == [true])
    }

    @Test("is not written for a push")
    func pushes() throws {
        let fixture = try relay()
        let line = try fixture.connect()
        try fixture.advance(byMilliseconds: Limits.presenceMilliseconds)
        try fixture.commit()
        for number in 1...20 { try fixture.push(UInt64(number)) }
        line.acknowledgeAll()
        try fixture.run()
        #expect(fixture.ledger.changes.isEmpty)
    }

    @Test("of devices that stay connected takes one note of the relay in half a minute")
    func staying() throws {
        let fixture = try relay(devices: 3)
        for number in 0..<3 { _ = try fixture.connect(number) }
        try fixture.advance(byMilliseconds: 20_000)
        try fixture.commit()
        for _ in 0..<4 { try fixture.advance(byMilliseconds: 10_000) }
        #expect(presences(fixture).isEmpty)
        #expect((1...2).contains(runs(fixture).count))
        #expect(runs(fixture).allSatisfy { !$0.isStopped })
    }

    @Test("that the disk refuses is written again")
    func failure() throws {
        let fixture = try relay()
        _ = try fixture.connect()
        try fixture.advance(byMilliseconds: Limits.presenceMilliseconds)
        try fixture.commit(isDurable: false)
        for _ in 0..<7 { try fixture.advance(byMilliseconds: 10_000) }
        #expect(presences(fixture).map(\.isConnected) == [true])
    }

    @Test("is as it was when the relay is stopped: that the devices leave with it is not written")
    func stopping() throws {
        let fixture = try relay()
        _ = try fixture.connect()
        fixture.shard.drain()
        try fixture.run()
        try fixture.advance(byMilliseconds: 10_000)
        #expect(presences(fixture).map(\.isConnected) == [true])
        #expect(runs(fixture).map(\.isStopped) == [true])
        #expect(try presence(fixture).ending == .relayStopped)
    }

    @Test("says how the device left")
    func endings() throws {
        let fixture = try relay(devices: 4)
        let sleeper = try fixture.connect(0)
        sleeper.say(.goodbye(Goodbye(reason: .asleep, retryAfterMilliseconds: 0, detail: "")))
        let stopped = try fixture.connect(1)
        stopped.say(.goodbye(Goodbye(reason: .shutdown, retryAfterMilliseconds: 0, detail: "")))
        let cut = try fixture.connect(2)
        let replaced = try fixture.connect(3)
        try fixture.run()
        cut.session.endpoint.closed(.peerReset)
        _ = try fixture.connect(3)
        #expect(try presence(fixture, 0).ending == .asleep)
        #expect(try presence(fixture, 1).ending == .goodbye)
        #expect(
            try presence(fixture, 2)
                == DevicePresence(
                    isConnected: false, since: Samples.now, address: presence(fixture, 2).address,
                    agent: "test/1", ending: .cut))
        #expect(try presence(fixture, 3).isConnected && presence(fixture, 3).ending == .replaced)
        #expect(replaced.goodbye?.reason == .replaced)
    }

    @Test("is told to nobody while nobody listens, and at the end of the turn to who does")
    func events() throws {
        let fixture = try relay()
        _ = try fixture.connect()
        var told: [Control.DeviceEvent] = []
        fixture.shard.directory.events.observe(
            DeviceEventFeed.Observer(take: { told += $0 }, expect: { _ in }))
        #expect(told.isEmpty)
        let line = try fixture.connect()
        fixture.shard.devices.left(line.session)
        try fixture.run()
        #expect(told.map(\.what) == [.connected, .away])
        #expect(
            told.allSatisfy { $0.identity == DeviceFixture.identity(0).description && $0.name == "device" })
    }

    @Test("of an earlier run is known: who was connected is away since the relay was last known to run")
    func earlierRun() throws {
        let fixture = try DeviceFixture(devices: 2)
        var registry = Registry()
        let late = Samples.now.advanced(byMilliseconds: -5_000)
        registry.lastRun = RelayRun(startedAt: Moment(milliseconds: 1), aliveAt: late)
        registry.presences = [
            PresenceRecord(
                device: DeviceFixture.identity(0),
                presence: DevicePresence(
                    isConnected: true, since: Moment(milliseconds: 7), address: "::1", agent: "a/1")),
            PresenceRecord(
                device: DeviceFixture.identity(1),
                presence: DevicePresence(
                    isConnected: false, since: Moment(milliseconds: 9), address: "::2", agent: "a/1",
                    ending: .silent)),
        ]
        fixture.shard.home.restorePresence(registry, ofNode: false)
        #expect(
            try presence(fixture)
                == DevicePresence(
                    isConnected: false, since: late, address: "::1", agent: "a/1", ending: .relayFailed))
        #expect(try presence(fixture, 1) == registry.presences[1].presence)
    }
}

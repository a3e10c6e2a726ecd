import PostriderCourier
import PostriderDeviceQueue
import PostriderEndpoints
import PostriderNotifications
import PostriderRules
import PostriderTransport
import RelayFixtures
import Testing

@testable import PostriderRelay

@Suite("A rule about the device of a push", .eachProtocolCode)
struct LinkEffectsTests {
    private static func fixture() throws -> DeviceFixture {
        try DeviceFixture(bench: TestBench(readRules: { _ in RuleList() }))
    }

    @Test("cuts the link, and lets the device in again when the time is over; the push waits")
    func offline() throws {
        let fixture = try Self.fixture()
        let line = try fixture.connect()
        try fixture.push(1, disturbedBy: .offline(30_000))
        #expect(line.closed != nil && line.delivered.isEmpty)
        #expect(fixture.shard.home.tally.pending == 1)
        let early = try fixture.connect()
        #expect(early.goodbye?.reason == .overloaded && early.goodbye?.retryAfterMilliseconds == 30_000)
        try fixture.advance(byMilliseconds: 29_999)
        #expect(try fixture.connect().goodbye?.retryAfterMilliseconds == 1)
        try fixture.advance(byMilliseconds: 1)
        let late = try fixture.connect()
        #expect(late.delivered == [1])
        late.acknowledgeAll()
        try fixture.run()
        #expect(fixture.shard.home.tally.delivered == 1)
    }

    @Test("keeps a device away that was away")
    func offlineWhileAway() throws {
        let fixture = try Self.fixture()
        try fixture.push(1, disturbedBy: .offline(5_000))
        #expect(try fixture.connect().goodbye?.reason == .overloaded)
        try fixture.advance(byMilliseconds: 5_000)
        #expect(try fixture.connect().delivered == [1])
    }

    @Test("holds back a delivery and those behind it, in their order")
    func slow() throws {
        let fixture = try Self.fixture()
        let line = try fixture.connect()
        try fixture.push(1)
        try fixture.push(2, disturbedBy: .slow(2_000))
        try fixture.push(3)
        try fixture.push(4, disturbedBy: .slow(1_000))
        try fixture.push(5)
        #expect(line.delivered == [1])
        try fixture.advance(byMilliseconds: 1_999)
        #expect(line.delivered == [1])
        try fixture.advance(byMilliseconds: 1)
        #expect(line.delivered == [1, 2, 3])
        try fixture.advance(byMilliseconds: 1_000)
        #expect(line.delivered == [1, 2, 3, 4, 5])
        line.acknowledgeAll()
        try fixture.run()
        #expect(fixture.shard.home.tally.delivered == 5)
    }

    @Test("holds back nothing beyond the end of the link")
    func slowUntilTheEnd() throws {
        let fixture = try Self.fixture()
        let line = try fixture.connect()
        try fixture.push(1, disturbedBy: .slow(2_000))
        let next = try fixture.connect()
        #expect(next.delivered == [1] && line.delivered.isEmpty)
        try fixture.advance(byMilliseconds: 2_000)
        #expect(next.delivered == [1] && line.delivered.isEmpty)
    }

    @Test("lets an acknowledgement count later, and others at once")
    func lateAcknowledgement() throws {
        let fixture = try Self.fixture()
        let line = try fixture.connect()
        try fixture.push(1, disturbedBy: .acknowledgesLate(5_000))
        try fixture.push(2)
        #expect(line.delivered == [1, 2])
        line.acknowledgeAll()
        try fixture.run()
        #expect(fixture.shard.home.tally.delivered == 1 && fixture.shard.home.tally.pending == 1)
        try fixture.advance(byMilliseconds: 5_000)
        #expect(fixture.shard.home.tally.delivered == 2 && fixture.shard.home.tally.pending == 0)
    }

    @Test("delivers a push again whose acknowledgement was late when the link ended")
    func lostAcknowledgement() throws {
        let fixture = try Self.fixture()
        let line = try fixture.connect()
        try fixture.push(1, disturbedBy: .acknowledgesLate(5_000))
        line.acknowledgeAll()
        try fixture.run()
        let next = try fixture.connect()
        #expect(next.delivered == [1])
        try fixture.advance(byMilliseconds: 5_000)
        #expect(fixture.shard.home.tally.delivered == 0)
        next.acknowledgeAll()
        try fixture.run()
        #expect(fixture.shard.home.tally.delivered == 1)
    }

    @Test("cuts the link in the middle of a delivery, and delivers the push again on the next one")
    func disconnecting() throws {
        let fixture = try Self.fixture()
        let line = try fixture.connect()
        try fixture.push(1)
        line.acknowledgeAll()
        try fixture.run()
        try fixture.push(2, disturbedBy: .disconnects)
        try fixture.push(3)
        #expect(line.closed == .localClose && line.delivered == [1] && line.goodbye == nil)
        line.session.endpoint.closed(.localClose)
        try fixture.run()
        #expect(try fixture.connect().delivered == [2, 3])
    }

    @Test("is forgotten when other rules replace it")
    func replaced() throws {
        let bench = TestBench(readRules: { _ in RuleList() })
        let fixture = try DeviceFixture(bench: bench)
        let line = try fixture.connect()
        try fixture.push(1, disturbedBy: .offline(30_000))
        #expect(line.closed != nil)
        try bench.replaceRules("")
        #expect(try fixture.connect().delivered == [1])
    }

    @Test("needs an expired certificate if it is to show one")
    func withoutCertificate() throws {
        var effect = ConnectionEffect()
        effect.expiredCertificates = 1
        let list = RuleList(rules: [PushRule(effect: RuleEffect(connection: effect))])
        let bench = TestBench(readRules: { _ in list })
        let mistake = #expect(throws: TestBench.RuleMistake.self) { try bench.replaceRules("") }
        #expect(mistake?.sentence.contains("only 'postrider dev' has its own") == true)
    }
}

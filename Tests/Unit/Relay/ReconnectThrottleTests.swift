import PostriderCourier
import PostriderDeviceQueue
import PostriderNotifications
import Testing

@testable import PostriderRelay

@Suite("When many devices return at once")
struct ReconnectThrottleTests {
    private static let millisecond: UInt64 = 1_000_000

    @Test("those for whom there is a place are let in, the others get slots that follow each other")
    func slots() {
        var throttle = ReconnectThrottle(places: 2)
        #expect(throttle.slot(now: 0) == nil)
        throttle.began(now: 0)
        #expect(throttle.slot(now: 0) == nil)
        throttle.began(now: 0)
        let least = UInt32(Limits.slotMilliseconds.least)
        // The throttle assumes that a fetch takes 10 ms, so that with two places one ends every 5 ms.
        #expect((0..<4).map { _ in throttle.slot(now: 0) } == [0, 5, 10, 15].map { least + $0 })
        #expect(throttle.deferred == 4)
        #expect(throttle.slot(now: 10 * Self.millisecond) == least + 10, "time goes by for all of them")
        throttle.ended(now: 10 * Self.millisecond)
        #expect(throttle.slot(now: 10 * Self.millisecond) == nil && throttle.fetchCount == 1)
    }

    @Test("slots are as far from each other as fetches have been seen to end", arguments: [1, 10, 400])
    func capacity(_ milliseconds: UInt64) throws {
        var throttle = ReconnectThrottle(places: 1)
        var now: UInt64 = 0
        for _ in 0..<60 {
            throttle.began(now: now)
            now += milliseconds * Self.millisecond
            throttle.ended(now: now)
        }
        throttle.began(now: now)
        let slots = (0..<20).compactMap { _ in throttle.slot(now: now) }
        let distance = Int(try #require(slots.last)) - Int(try #require(slots.first))
        #expect(abs(distance - 19 * Int(milliseconds)) <= 19 * Int(milliseconds) / 20 + 1)
    }

    @Test("no slot is further away than is bearable")
    func bound() {
        var throttle = ReconnectThrottle(places: 1)
        throttle.began(now: 0)
        var last: UInt32 = 0
        for _ in 0..<100_000 { last = throttle.slot(now: 0) ?? 0 }
        #expect(last == UInt32(Limits.slotMilliseconds.most))
    }

    @Test("all of them are in at the end, and none has lost anything")
    func storm() throws {
        let count = 40
        let fixture = try DeviceFixture(devices: count, throttle: ReconnectThrottle(places: 3))
        for number in 0..<count { try fixture.push(UInt64(number + 1), to: number) }
        try fixture.commit()
        var lines: [Int: DeviceClientConnection] = [:]
        var due: [(number: Int, at: Int)] = (0..<count).map { ($0, 0) }
        var (time, deferred) = (0, 0)
        while !due.isEmpty {
            let now = due.filter { $0.at <= time }
            due.removeAll { $0.at <= time }
            for (number, _) in now {
                let line = try fixture.connect(number)
                lines[number] = line
                guard let goodbye = line.goodbye else { continue }
                #expect(goodbye.reason == .overloaded && goodbye.retryAfterMilliseconds >= 500)
                deferred += 1
                due.append((number, time + Int(goodbye.retryAfterMilliseconds)))
            }
            #expect(fixture.ledger.loads <= 3)
            if !now.isEmpty { try fixture.commit() }
            time += 10
            try fixture.advance(byMilliseconds: 10)
        }
        #expect(deferred >= count - 3 && fixture.shard.home.throttle.deferred == UInt64(deferred))
        for number in 0..<count { #expect(lines[number]?.delivered == [UInt64(number + 1)]) }
    }

    @Test("a device for which nothing waits is let in, and one that was deferred keeps its older link")
    func nothingWaits() throws {
        let fixture = try DeviceFixture(devices: 3, throttle: ReconnectThrottle(places: 1))
        try fixture.push(1, to: 0)
        try fixture.push(2, to: 1)
        try fixture.commit()
        #expect(try fixture.connect(0).goodbye == nil)
        #expect(try fixture.connect(1).goodbye != nil)
        let first = try fixture.connect(2)
        #expect(first.goodbye == nil)
        try fixture.push(3, priority: .low, to: 2)
        let second = try fixture.connect(2)
        #expect(second.goodbye?.reason == .overloaded && second.status == .resourceExhausted)
        #expect(
            first.goodbye == nil
                && fixture.shard.home.entries[DeviceFixture.identity(2)]?.session === first.session)
    }
}

@Suite("The balance of a shard")
struct BalanceTests {
    @Test("raises an alarm when it is lost, once", arguments: [true, false])
    func alarm(_ isCounted: Bool) throws {
        let fixture = try DeviceFixture()
        try fixture.push(1)
        fixture.shard.start()
        try fixture.advance(byMilliseconds: 30_000)
        #expect(fixture.errors.isEmpty && fixture.shard.report.isBalanced)
        if isCounted {
            fixture.shard.home.tally.accepted += 1
        } else {
            // The counters balance, but the pending push does not exist.
            fixture.shard.home.tally.pending += 1
            fixture.shard.home.tally.accepted += 1
        }
        #expect(!fixture.shard.report.isBalanced)
        try fixture.advance(byMilliseconds: 30_000)
        #expect(fixture.errors.count == 1)
        #expect(fixture.errors.first?.contains("shard 0 do not balance") == true)
        let status = Control.Status([fixture.shard.report, ShardReport()])
        #expect(!status.counters.isBalanced)
        #expect(status.countersOfShards.map(\.isBalanced) == [false, true])
    }
}

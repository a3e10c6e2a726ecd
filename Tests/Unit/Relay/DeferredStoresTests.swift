import PostriderCourier
import PostriderNotifications
import PostriderSeededRandom
import Testing

@testable import PostriderRelay

@Suite("What waits for an acknowledgement before it goes to the ledger")
struct DeferredStoresTests {
    private var held = DeferredStores()

    private mutating func hold(_ row: Int64, since moment: UInt64 = 0) {
        held.hold(
            QueuedNotification(row: QueueRow(row), notification: Samples.notification(UInt64(row))),
            since: SendTime(nanoseconds: moment * Self.millisecond, turn: Int(moment)))
    }

    private static let millisecond: UInt64 = 1_000_000

    private mutating func settle(_ row: Int64) -> Bool { held.settle(QueueRow(row)) }

    private mutating func takeAll(heldSince moment: UInt64) -> [Int64] {
        var rows: [Int64] = []
        // Since then, more time has passed than an acknowledgement may take.
        let late = (min(moment, 1 << 30) + UInt64(Limits.acknowledgementMilliseconds)) * Self.millisecond
        let now = moment == .max ? nil : SendTime(nanoseconds: late, turn: Int(moment) + SendTime.turns)
        while let queued = held.takeFirst(lateAt: now) { rows.append(queued.row.value) }
        return rows
    }

    @Test("comes out in order, when its time is over")
    mutating func order() {
        for row in 1...3 as ClosedRange<Int64> { hold(row, since: UInt64(row) * 10) }
        #expect(held.oldest?.turn == 10)
        for (moment, expected) in [(9, []), (20, [1, 2]), (29, []), (30, [3])] as [(UInt64, [Int64])] {
            let rows = takeAll(heldSince: moment)
            #expect(rows == expected)
        }
        #expect(held.oldest == nil)
    }

    @Test("an acknowledgement is late when both the time and the turns are over")
    func late() {
        let time = UInt64(Limits.acknowledgementMilliseconds) * Self.millisecond
        let sending = SendTime(nanoseconds: 5, turn: 5)
        for (nanoseconds, turns, isLate) in [
            (time, SendTime.turns, true), (time - 1, SendTime.turns, false),
            (time, SendTime.turns - 1, false),
        ] as [(UInt64, Int, Bool)] {
            #expect(sending.isLate(at: SendTime(nanoseconds: 5 + nanoseconds, turn: 5 + turns)) == isLate)
        }
    }

    @Test("does not come out once it is settled, and is settled once")
    mutating func settled() {
        for row in [2, 5, 9, 12] as [Int64] { hold(row) }
        var settled: [Int64] = []
        for row in [9, 9, 2, 1, 2, 6, 13] as [Int64] where settle(row) { settled.append(row) }
        let taken = takeAll(heldSince: 0)
        let isSettledLater = settle(5)
        #expect(settled == [9, 2] && taken == [5, 12] && !isSettledLater)
    }

    @Test("keeps to the order of rows through thousands", arguments: 1...5 as ClosedRange<UInt64>)
    mutating func many(_ seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var (expected, next, taken) = ([Int64](), Int64(0), [Int64]())
        for moment in 1...30_000 as ClosedRange<UInt64> {
            next += Int64.random(in: 1...3, using: &random)
            hold(next, since: moment)
            expected.append(next)
            if random.chance(1, in: 3), let row = expected.randomElement(using: &random) {
                expected.removeAll { $0 == row }
                let isSettled = settle(row)
                #expect(isSettled)
            }
            if random.chance(1, in: 300) { taken += takeAll(heldSince: moment - min(moment, 50)) }
            while let first = taken.first {
                #expect(expected.first == first)
                expected.removeFirst()
                taken.removeFirst()
            }
        }
        let rest = takeAll(heldSince: .max)
        #expect(rest == expected)
    }
}

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
        house.ledger.mail.compactMap { letter in
            switch letter {
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
        house.shard.context.outbox.send(.push(.deliver(notification, Samples.receipt(1))), to: 0)
        try house.run()
        try wait()
        #expect(mail == [] && house.shard.home.tally.expired == 1)
    }

    @Test("what is held goes to it when the relay stops, and nothing is held any more")
    func draining() throws {
        try house.push(1)
        var letters: [ShardMessage] = [.lifecycle(.drain)]
        house.shard.receive(&letters)
        try house.run()
        #expect(mail == ["store 1"])
    }
}

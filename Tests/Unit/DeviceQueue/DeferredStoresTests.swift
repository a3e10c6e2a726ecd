import PostriderNotifications
import PostriderSeededRandom
import RelayFixtures
import Testing

@testable import PostriderDeviceQueue

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

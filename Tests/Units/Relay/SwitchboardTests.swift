import PostriderNotifications
import Testing

@testable import PostriderRelay

/// A mailbox with so much room.
private final class Box<Letter> {
    var letters: [Letter] = []
    var room: Int

    init(room: Int = .max) { self.room = room }

    func post(_ batch: inout [Letter]) -> Bool {
        let count = min(room, batch.count)
        letters += batch[..<count]
        batch.removeFirst(count)
        room -= count
        return batch.isEmpty
    }
}

@Suite("The switchboard")
struct SwitchboardTests {
    private let shards = [Box<Letter>(), Box<Letter>(), Box<Letter>()]
    private let ledger = Box<LedgerLetter>()

    private func switchboard(of index: Int? = 1) -> Switchboard {
        Switchboard(
            ownIndex: index, shards: shards.map { box in { box.post(&$0) } },
            ledger: { [ledger] in ledger.post(&$0) })
    }

    private func answer(_ stream: Int) -> Letter { .answer(Samples.receipt(stream), .accepted) }

    private func streams(_ letters: [Letter]) -> [Int32] {
        letters.map { if case .answer(let receipt, _) = $0 { receipt.stream } else { -1 } }
    }

    @Test("posts to others in order, and keeps what is its own")
    func order() {
        let switchboard = switchboard()
        for stream in 0..<6 { switchboard.send(answer(stream), to: stream % 3) }
        switchboard.send(.settle(QueueRow(1)))
        #expect(shards.map(\.letters.count) == [0, 0, 0])
        #expect(switchboard.post())
        #expect(streams(shards[0].letters) == [0, 3])
        #expect(streams(shards[1].letters) == [])
        #expect(streams(shards[2].letters) == [2, 5])
        #expect(ledger.letters.count == 1)
        var own: [Letter] = []
        switchboard.takeOwn(into: &own)
        #expect(streams(own) == [1, 4])
        own = []
        switchboard.takeOwn(into: &own)
        #expect(own.isEmpty)
    }

    @Test("keeps what a full mailbox does not take, in order, and loses nothing of the others")
    func fullMailbox() {
        let switchboard = switchboard()
        shards[0].room = 2
        for stream in 0..<4 {
            switchboard.send(answer(stream), to: 0)
            switchboard.send(answer(10 + stream), to: 2)
        }
        #expect(!switchboard.post())
        #expect(streams(shards[0].letters) == [0, 1])
        #expect(streams(shards[2].letters) == [10, 11, 12, 13])
        switchboard.send(answer(4), to: 0)
        #expect(!switchboard.post())
        shards[0].room = 9
        #expect(switchboard.post())
        #expect(streams(shards[0].letters) == [0, 1, 2, 3, 4])
    }

    @Test("keeps what a full ledger does not take, and posts to shards all the same")
    func fullLedger() {
        let switchboard = switchboard()
        ledger.room = 1
        for row in 1...3 { switchboard.send(.settle(QueueRow(Int64(row)))) }
        switchboard.send(answer(1), to: 0)
        #expect(!switchboard.post())
        #expect(ledger.letters.count == 1 && shards[0].letters.count == 1)
        ledger.room = 2
        #expect(switchboard.post())
        #expect(ledger.letters.count == 3)
    }

    @Test(
        "is congested for a shard whose letters wait, and for all while the ledger is behind"
    )
    func congestion() {
        let switchboard = switchboard()
        for stream in 0..<Limits.letters { switchboard.send(answer(stream), to: 0) }
        #expect(switchboard.isCongested(0) && !switchboard.isCongested(2))
        #expect(switchboard.post())
        #expect(!switchboard.isCongested(0))
        ledger.room = 0
        for _ in 0..<Limits.letters { switchboard.send(.settle(QueueRow(1))) }
        #expect(!switchboard.post())
        #expect(switchboard.isCongested(0) && switchboard.isCongested(1) && switchboard.isCongested(2))
    }

    @Test("says to all: the own shard, too")
    func sendToAll() {
        let switchboard = switchboard()
        switchboard.sendToAll(.drain)
        #expect(switchboard.post())
        var own: [Letter] = []
        switchboard.takeOwn(into: &own)
        #expect([shards[0].letters.count, own.count, shards[2].letters.count] == [1, 1, 1])
    }

    @Test("of the ledger posts to every shard")
    func ofLedger() {
        let switchboard = switchboard(of: nil)
        switchboard.sendToAll(.stop)
        #expect(switchboard.post())
        #expect(shards.map(\.letters.count) == [1, 1, 1])
    }
}

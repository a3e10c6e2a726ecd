import PostriderCluster
import PostriderNotifications
import RelayFixtures
import Testing

@testable import PostriderRelay

/// A mailbox with room for a number of messages.
private final class Box<ShardMessage> {
    var messages: [ShardMessage] = []
    var room: Int

    init(room: Int = .max) { self.room = room }

    func post(_ batch: inout [ShardMessage]) -> Bool {
        let count = min(room, batch.count)
        messages += batch[..<count]
        batch.removeFirst(count)
        room -= count
        return batch.isEmpty
    }
}

@Suite("The switchboard")
struct OutboxTests {
    private let shards = [Box<ShardMessage>(), Box<ShardMessage>(), Box<ShardMessage>()]
    private let ledger = Box<LedgerCommand>()

    private func outbox(of index: Int? = 1) -> Outbox {
        Outbox(
            ownIndex: index, shards: shards.map { box in { box.post(&$0) } },
            ledger: { [ledger] in ledger.post(&$0) })
    }

    private func answer(_ stream: Int) -> ShardMessage {
        .push(.answer(Samples.replyAddress(stream), .accepted))
    }

    private func streams(_ messages: [ShardMessage]) -> [Int32] {
        messages.map { if case .push(.answer(let address, _)) = $0 { address.stream } else { -1 } }
    }

    @Test("posts to others in order, and keeps what is its own")
    func order() {
        let outbox = outbox()
        for stream in 0..<6 { outbox.send(answer(stream), to: stream % 3) }
        outbox.send(.settle(QueueRow(1)))
        #expect(shards.map(\.messages.count) == [0, 0, 0])
        #expect(outbox.post())
        #expect(streams(shards[0].messages) == [0, 3])
        #expect(streams(shards[1].messages) == [])
        #expect(streams(shards[2].messages) == [2, 5])
        #expect(ledger.messages.count == 1)
        var own: [ShardMessage] = []
        outbox.takeOwn(into: &own)
        #expect(streams(own) == [1, 4])
        own = []
        outbox.takeOwn(into: &own)
        #expect(own.isEmpty)
    }

    @Test("keeps what a full mailbox does not take, in order, and loses nothing of the others")
    func fullMailbox() {
        let outbox = outbox()
        shards[0].room = 2
        for stream in 0..<4 {
            outbox.send(answer(stream), to: 0)
            outbox.send(answer(10 + stream), to: 2)
        }
        #expect(!outbox.post())
        #expect(streams(shards[0].messages) == [0, 1])
        #expect(streams(shards[2].messages) == [10, 11, 12, 13])
        outbox.send(answer(4), to: 0)
        #expect(!outbox.post())
        shards[0].room = 9
        #expect(outbox.post())
        #expect(streams(shards[0].messages) == [0, 1, 2, 3, 4])
    }

    @Test("keeps what a full ledger does not take, and posts to shards all the same")
    func fullLedger() {
        let outbox = outbox()
        ledger.room = 1
        for row in 1...3 { outbox.send(.settle(QueueRow(Int64(row)))) }
        outbox.send(answer(1), to: 0)
        #expect(!outbox.post())
        #expect(ledger.messages.count == 1 && shards[0].messages.count == 1)
        ledger.room = 2
        #expect(outbox.post())
        #expect(ledger.messages.count == 3)
    }

    @Test(
        "is congested for a shard whose messages wait, and for all while the ledger is behind"
    )
    func congestion() {
        let outbox = outbox()
        for stream in 0..<Limits.mailboxMessages { outbox.send(answer(stream), to: 0) }
        #expect(outbox.isCongested(0) && !outbox.isCongested(2))
        #expect(outbox.post())
        #expect(!outbox.isCongested(0))
        ledger.room = 0
        for _ in 0..<Limits.mailboxMessages { outbox.send(.settle(QueueRow(1))) }
        #expect(!outbox.post())
        #expect(outbox.isCongested(0) && outbox.isCongested(1) && outbox.isCongested(2))
    }

    @Test("posts to other nodes in order, and is congested for them while their switch takes nothing")
    func nodes() {
        let nodes = Box<NodeMessage>(room: 1)
        let outbox = Outbox(
            ownIndex: 0, shards: [{ $0.isEmpty }], ledger: { [ledger] in ledger.post(&$0) },
            nodes: { nodes.post(&$0) })
        let places = [ShardPlace(link: 2), ShardPlace(link: 1, shard: 7)]
        for place in places { outbox.send(answer(1), to: place.number) }
        #expect(!outbox.post())
        #expect(nodes.messages.map(\.place) == [places[0]])
        for stream in 0..<Limits.mailboxMessages { outbox.send(answer(stream), to: places[0].number) }
        #expect(outbox.isCongested(places[1].number) && !outbox.isCongested(0))
        nodes.room = .max
        #expect(outbox.post())
        #expect(nodes.messages.prefix(2).map(\.place) == places && !outbox.isCongested(places[1].number))
        #expect(places[1].link == 1 && places[1].shard == 7 && ShardPlace(3).link == nil)
    }

    @Test("says to all: the own shard, too")
    func sendToAll() {
        let outbox = outbox()
        outbox.sendToAll(.lifecycle(.drain))
        #expect(outbox.post())
        var own: [ShardMessage] = []
        outbox.takeOwn(into: &own)
        #expect([shards[0].messages.count, own.count, shards[2].messages.count] == [1, 1, 1])
    }

    @Test("of the ledger posts to every shard")
    func ofLedger() {
        let outbox = outbox(of: nil)
        outbox.sendToAll(.lifecycle(.stop))
        #expect(outbox.post())
        #expect(shards.map(\.messages.count) == [1, 1, 1])
    }

    @Test("knows devices and channels to be elsewhere from the moment on at which the node's lease ends")
    func lease() {
        let serving = ServingTime(until: 10)
        let outbox = Outbox(ownIndex: nil, shards: [], ledger: { $0.isEmpty }, serving: serving)
        outbox.places = PartitionPlaces(Array(repeating: .here, count: Partition.count))
        let owner = ChannelOwner(topic: Samples.topic, environment: .production)
        func isElsewhere(at now: UInt64) -> [Bool] {
            [outbox.isElsewhere(Samples.device, at: now), outbox.isElsewhere(owner, at: now)]
        }
        #expect(isElsewhere(at: 9) == [false, false] && isElsewhere(at: 10) == [true, true])
        serving.change(to: 20)
        #expect(isElsewhere(at: 10) == [false, false])
        outbox.places = .unknown
        #expect(isElsewhere(at: 10) == [true, true])
    }
}

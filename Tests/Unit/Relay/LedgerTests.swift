import PostriderNotifications
import RelayFixtures
import Testing

@testable import PostriderRelay

@Suite("The ledger")
struct LedgerTests {
    /// The ledger's posts, as text.
    private final class Post {
        var lines: [String] = []
        var closed = 0
        var rests: [Int] = []
        var alarms: [UInt64] = []
        var now: UInt64 = 0
        var arrived = 0
        let told = Told()
    }

    private let store = SlowStore()
    private let post = Post()
    private let ledger: Ledger

    init() {
        let post = post
        ledger = Ledger(
            store: store, shardCount: 2, log: post.told.log,
            post: { message, shard in post.lines.append("\(shard) \(Self.text(message))") },
            copy: { _, order in post.lines.append("copy to \(order.directory)") },
            rest: { post.rests.append($0) },
            time: LedgerTime(now: { post.now }, alarm: { post.alarms.append($0) }, arrived: { post.arrived }),
            onClosed: { post.closed += 1 }
        )
    }

    private static func text(_ message: ShardMessage) -> String {
        switch message {
        case .push(.stored(let rows, nil)): "stored \(rows.map(\.row.value))"
        case .push(.stored(let rows, let failure?)): "\(failure.status) \(rows.map(\.row.value))"
        case .push(.loaded(_, let asked, .success(let found))):
            "loaded \(asked.map(\.value)) \(found.map(\.row.value))"
        case .push(.loaded(_, let asked, .failure)): "unread \(asked.map(\.value))"
        case .registry(.applied(let ticket, let result)): "applied \(ticket) \(result.isSuccess)"
        default: "\(message)"
        }
    }

    private static let devices = (0..<4).map { DeviceIdentity(high: 1, low: $0) }

    private func stored(_ row: Int64, for device: Int = 0) -> LedgerCommand {
        let notification = Samples.notification(UInt64(row), device: Self.devices[device])
        return .store(QueuedNotification(row: QueueRow(row), notification: notification), postedAt: 0)
    }

    private func settle(_ row: Int64) -> LedgerCommand { .settle(QueueRow(row)) }

    private func load(_ rows: Int64...) -> LedgerCommand {
        .load(Self.devices[0], rows.map { QueueRow($0) })
    }

    @Test("tells every home of its own rows")
    func homes() {
        ledger.receive([stored(1, for: 0), stored(2, for: 1), stored(3, for: 2), stored(4, for: 3)])
        #expect(post.lines == ["0 stored [1, 3]", "1 stored [2, 4]"])
        #expect(store.rows == [1, 2, 3, 4])
    }

    @Test("touches no disk for what is settled in time, and tells nobody")
    func annihilation() {
        ledger.receive([stored(1), settle(1)])
        #expect(post.lines.isEmpty && store.batches.isEmpty)
    }

    /// Makes a commit of these rows that takes a millisecond; at its end some commands have arrived.
    private func commit(_ rows: ClosedRange<Int64>, arrived: Int = 0) {
        store.isHeld = true
        ledger.receive(rows.map { stored($0) })
        post.now += 1_000_000
        post.arrived = arrived
        store.complete()
        post.arrived = 0
    }

    @Test("waits after a commit for as many as it has answered, as long as it took")
    func waiting() {
        commit(1...20, arrived: 5)
        ledger.receive((21...25).map { stored($0) })
        ledger.receive((26...44).map { stored($0) })
        #expect(store.batches.count == 1 && post.alarms == [2_000_000, 2_000_000])
        ledger.receive([stored(45)])
        #expect(store.batches.map(\.enqueued.count) == [20, 25])
        post.now += 500_000
        store.complete()
        ledger.receive([stored(46)])
        #expect(store.batches.count == 2 && post.alarms.last == 2_000_000)
        post.now = 2_000_000
        ledger.goOn()
        #expect(store.batches.map(\.enqueued.count) == [20, 25, 1])
    }

    @Test("has nobody wait who wants something else of it, and nobody after a push or two")
    func orders() {
        commit(1...20)
        ledger.receive([stored(21), settle(1)])
        #expect(store.batches.count == 1)
        ledger.receive([load(2)])
        #expect(store.batches.count == 2)
        store.complete()
        commit(31...32)
        ledger.receive([stored(33)])
        #expect(store.batches.count == 4)
    }

    @Test("gathers what arrives during a commit into the next one")
    func gathering() {
        store.isHeld = true
        ledger.receive([stored(1)])
        ledger.receive([stored(2), settle(1)])
        ledger.receive([settle(2), stored(3)])
        #expect(store.batches.count == 1 && post.lines.isEmpty)
        store.complete()
        #expect(store.batches.count == 2)
        store.complete()
        #expect(store.batches[1].enqueued.map(\.row.value) == [3])
        #expect(store.batches[1].settled == [QueueRow(1)])
        #expect(post.lines == ["0 stored [1]", "0 stored [3]"] && store.rows == [3])
    }

    @Test("copies the store when what came before is committed, and says so where it cannot")
    func backup() {
        let order = BackupRequest(directory: "/copy", shard: 1, ticket: 7)
        ledger.receive([stored(1), .backUp(order)])
        #expect(post.lines == ["0 stored [1]", "copy to /copy"])
        store.cannotBeCopied = true
        ledger.receive([.backUp(order)])
        #expect(post.lines.last == "1 applied 7 false")
    }

    @Test("has a bound for one transaction")
    func bound() {
        ledger.receive((1...Int64(Limits.ledgerBatch) + 1).map { stored($0) })
        #expect(store.batches.map(\.enqueued.count) == [Limits.ledgerBatch, 1])
    }

    @Test("says which rows were not stored, and owes what it did not settle to the next commit")
    func failure() {
        ledger.receive([stored(1), stored(2)])
        // One of them is that of the removal alone.
        store.failures = 3
        ledger.receive([stored(3), settle(1)])
        ledger.receive([settle(2)])
        #expect(post.lines == ["0 stored [1, 2]", "0 503 [3]"] && store.rows == [1, 2])
        ledger.receive([stored(4)])
        #expect(store.batches.last?.settled.sorted() == [QueueRow(1), QueueRow(2)] && store.rows == [4])
        ledger.receive([stored(5)])
        #expect(store.batches.last?.settled == [])
    }

    @Test(
        "removes rows before it stores anything else if a full disk refused both together", .bug(id: "R4")
    )
    func room() {
        ledger.receive([stored(1), stored(2)])
        store.failures = 1
        ledger.receive([stored(3), settle(1)])
        #expect(post.lines.last == "0 503 [3]" && store.rows == [2])
        #expect(store.batches.last?.settled == [QueueRow(1)] && store.batches.last?.enqueued.isEmpty == true)
        ledger.receive([stored(4)])
        #expect(store.batches.last?.settled == [] && store.rows == [2, 4])
    }

    @Test("tells when storing fails and when it goes on, twice in a minute at the most", .bug(id: "A18"))
    func told() {
        for row in Int64(1)...40 {
            store.failures = row % 2 == 1 ? 1 : 0
            ledger.receive([stored(row)])
            post.now += 1_000_000
        }
        let (begin, end) = (
            "notifications are not stored for now: No room.", "notifications are stored again; "
        )
        #expect(post.told.lines == [begin, end + "1 batch was not", begin])
        post.now += FailureEpisodes.quiet
        ledger.receive([stored(41)])
        #expect(post.told.lines.last == end + "19 batches were not" && post.told.lines.count == 4)
        // Commits succeed for longer than the quiet time, and then fail for other reasons.
        post.now += FailureEpisodes.quiet
        for kind in [StoreError.Kind.full, .full, .inputOutput, .full, .inputOutput] {
            store.failure = StoreError(kind, "It is \(kind).")
            store.failures = 1
            ledger.receive([stored(50)])
        }
        let causes = ["full", "inputOutput"].map { "notifications are not stored for now: It is \($0)." }
        #expect(Array(post.told.lines[4...]) == causes)
    }

    @Test("settles what it owes by itself, after rests that grow to a bound and begin anew")
    func owed() {
        ledger.receive([stored(1)])
        store.failures = 9
        ledger.receive([settle(1)])
        for _ in 1...8 { ledger.settleOwed() }
        #expect(post.rests == [1, 2, 4, 8, 16, 32, 60, 60, 60].map { $0 * 1000 } && store.rows == [1])
        ledger.settleOwed()
        #expect(store.rows == [] && post.rests.count == 9)
        ledger.settleOwed()
        #expect(store.batches.count == 11, "nothing is owed any more")
        store.failures = 1
        ledger.receive([stored(2)])
        #expect(post.rests.count == 9, "what was not stored is not owed")
        ledger.receive([stored(3)])
        store.failures = 1
        ledger.receive([settle(3)])
        #expect(post.rests.last == 1000)
        store.isHeld = true
        ledger.receive([stored(4)])
        ledger.settleOwed()
        #expect(store.batches.last?.settled == [QueueRow(3)], "it is part of the batch that is under way")
    }

    @Test("has a store under which the disk has failed try again by itself, and once more at its close")
    func doubt() {
        store.failure = StoreError(.inputOutput, "The disk failed.")
        store.failures = 3
        ledger.receive([stored(1)])
        #expect(post.rests == [1000], "what was not stored may be there all the same")
        ledger.receive([load(9)])
        #expect(store.batches.count == 1, "whoever reads does not wait for that")
        for _ in 1...4 { ledger.settleOwed() }
        #expect(post.rests == [1000, 2000, 4000] && store.batches.count == 4, "until it succeeds")
        #expect(store.batches[1...].map(\.isEmpty) == [true, true, true])
        store.failures = 1
        ledger.receive([stored(2)])
        ledger.receive([.close])
        #expect(store.batches.count == 6 && store.batches.last?.isEmpty == true && store.isClosed)
    }

    @Test("lets a load see everything that was stored before it, and nothing that was settled")
    func loads() {
        ledger.receive([stored(1), stored(2), load(2, 1, 9), stored(3), settle(1)])
        #expect(post.lines == ["0 stored [3, 2]", "0 loaded [2, 1, 9] [2]"])
        store.isHeld = true
        ledger.receive([stored(4)])
        ledger.receive([load(4)])
        #expect(post.lines.count == 2)
        store.complete()
        #expect(post.lines[2...] == ["0 stored [4]", "0 loaded [4] [4]"])
    }

    @Test("tells the shard that asked for a change of the registry")
    func registry() {
        ledger.receive([.apply([.removeDevice(Samples.device)], shard: 1, ticket: 5)])
        #expect(post.lines == ["1 applied 5 true"])
    }

    @Test(
        "makes changes of the registry that came together at once, or, where that fails, each by itself"
    )
    func registryTogether() {
        let changes = Self.devices.map { RegistryChange.removeDevice($0) }
        let orders = changes.enumerated().map { number, change in
            LedgerCommand.apply([change], shard: number % 2, ticket: UInt64(number))
        }
        ledger.receive(orders)
        #expect(store.transactions == [4])
        #expect(
            post.lines == ["0 applied 0 true", "1 applied 1 true", "0 applied 2 true", "1 applied 3 true"])
        post.lines = []
        store.refused = changes[2]
        ledger.receive(orders)
        #expect(store.transactions == [4, 4, 1, 1, 1, 1])
        #expect(
            post.lines == ["0 applied 0 true", "1 applied 1 true", "0 applied 2 false", "1 applied 3 true"])
    }

    @Test("commits everything before a close, closes once, and hears nothing after it")
    func close() {
        store.isHeld = true
        ledger.receive([stored(1)])
        ledger.receive([stored(2), .close])
        #expect(!store.isClosed)
        store.complete()
        store.complete()
        #expect(store.isClosed && post.closed == 1 && store.rows == [1, 2])
        ledger.receive([stored(3), settle(1), load(1), .apply([], shard: 0, ticket: 1)])
        #expect(store.rows == [1, 2] && store.batches.count == 2)
        #expect(post.lines == ["0 stored [1]", "0 stored [2]"])
    }

    @Test(
        "has a provider retry when the store is full, and says that the relay is at fault when it is broken")
    func storeFailures() {
        let passing: [StoreError.Kind] = [.full, .busy, .inputOutput, .unreachable, .fenced, .misplaced]
        for kind in passing { #expect(StoreError(kind, "").rejection == .serviceUnavailable) }
        for kind in [StoreError.Kind.conflict, .unusable] {
            #expect(StoreError(kind, "").rejection == .internalServerError)
        }
    }
}

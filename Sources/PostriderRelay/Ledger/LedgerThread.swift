import PostriderCluster
import PostriderCrypto
import PostriderNotifications
import PostriderProviderAPI
import PostriderSystem
import PostriderTransport

/// The thread of the ledger: a loop with a mailbox and no sockets.
struct LedgerThread: Sendable {
    let mailboxes: RelayMailboxes
    let closed: CountDownLatch
    let measures: LedgerMeasures
    let log: Log
    let openStore: @Sendable () throws(StoreError) -> any Store
    /// From which rows are drawn. They rise above those of partitions before these are served.
    let rows: RowSequence

    /// Opens and reads the store on a new thread, which then serves the ledger until it is closed.
    func start() async throws -> LoadedStore {
        try await Thread.start(name: "ledger") { run($0) }
    }

    private func run(_ continuation: CheckedContinuation<LoadedStore, any Error>) {
        Thread.takeShortSlices()
        do {
            let loop = try EventLoop()
            let store = try openStore()
            let loaded = try LoadedStore(store, shards: mailboxes.shards.count)
            let ledger = try serve(store, on: loop)
            withTokenSecret(loaded, store) { continuation.resume(with: $0) }
            withExtendedLifetime(ledger) { loop.run() }
        } catch {
            continuation.resume(throwing: error)
        }
    }

    private func serve(_ store: any Store, on loop: EventLoop) throws(TransportError) -> Ledger {
        let outbox = mailboxes.outbox(ofShard: nil)
        let retry = loop.makeTimer {}
        let quiet = IdleMaintenance(store, on: loop)
        loop.turnEnded = {
            if !outbox.post() { retry.arm(afterMilliseconds: 1) }
            store.maintain()
        }
        weak var timed: Ledger?
        let owing = loop.makeTimer { timed?.settleOwed() }
        let alarm = try loop.makePreciseTimer { timed?.goOn() }
        let ledger = Ledger(
            store: store,
            shardCount: mailboxes.shards.count,
            log: log,
            post: { message, shard in outbox.send(message, to: shard) },
            copy: copy,
            rest: { owing.arm(afterMilliseconds: $0) },
            time: LedgerTime(
                now: { EventLoop.monotonicNanoseconds },
                alarm: { alarm.arm(at: $0) },
                arrived: { mailboxes.ledger.count }),
            measures: measures,
            take: { take($0, above: $1, from: store) },
            onClosed: { [unowned loop] in
                loop.stop()
                closed.countDown()
            }
        )
        timed = ledger
        try loop.attach(mailboxes.ledger) { [unowned ledger] messages in
            quiet.disturbed()
            ledger.receive(messages)
            messages.removeAll(keepingCapacity: true)
        }
        return ledger
    }

    /// Reads partitions that the node has taken, gives them to the shards, and tells the node's thread. Pushes wait
    /// meanwhile, so it is one piece of work for all partitions that a node takes at a time.
    private func take(_ partitions: Set<Partition>, above row: QueueRow, from store: any Store) {
        guard let store = store as? any PartitionStore else {
            preconditionFailure("a node's ledger has the store of a node")
        }
        do throws(StoreError) {
            let loaded = try LoadedStore(store, partitions, shards: mailboxes.shards.count)
            rows.rise(above: max(row, loaded.lastRow))
            mailboxes.postToAllShards(.registry(.taken(loaded)))
            mailboxes.node?.events.postEvenIfFull(.taken(partitions))
        } catch {
            mailboxes.node?.events.postEvenIfFull(.notTaken(partitions, error))
        }
    }

    /// Copies a snapshot on a thread of its own, so that pushes do not wait for it.
    private func copy(_ snapshot: any StoreSnapshot, _ order: BackupRequest) {
        let answer = { @Sendable [mailboxes] (result: Result<Void, StoreError>) in
            mailboxes.shards[order.shard].postEvenIfFull(.registry(.applied(ticket: order.ticket, result)))
        }
        do {
            _ = try Thread.spawn(name: "backup") {
                answer(Result { () throws(StoreError) in try snapshot.copy(to: order.directory) })
            }
        } catch {
            answer(.failure(StoreError(.busy, "No thread can be started for the copy: try again.")))
        }
    }

    /// Draws the first secret for device tokens, if the store has none. Another node of a cluster may do so at the same
    /// time.
    private func withTokenSecret(
        _ loaded: LoadedStore,
        _ store: any Store,
        _ then: @escaping (Result<LoadedStore, any Error>) -> Void
    ) {
        guard loaded.registry.tokenSecrets.isEmpty else {
            then(.success(loaded))
            return
        }
        let secret = Entropy().bytes(DeviceTokenCodec.secretByteCount)
        store.addFirstTokenSecret(secret) { result in
            then(
                Result {
                    var loaded = loaded
                    loaded.registry.tokenSecrets = try result.get()
                    return loaded
                })
        }
    }
}

import PostriderCluster
import PostriderNotifications

/// The only writer of the store. A batch is what arrived during the last commit, and what the ``GroupCommitPolicy``
/// waits for. Under load batches grow, so that many pushes share the cost of a commit; without load nobody waits.
///
/// A notification that is settled in the batch that would store it is never written.
final class Ledger {
    private let store: any Store
    private let shardCount: Int
    private let post: (ShardMessage, Int) -> Void
    private let copy: Copy
    private let take: Take
    private let log: Log
    private let measures: LedgerMeasures
    private var waiting = WaitingCommands()
    private let time: LedgerTime
    private var gather: GroupCommitPolicy
    private var phase = Phase.idle
    private var owed = OwedRemovals()
    private let rest: Rest
    private var onClosed: (() -> Void)?

    /// Decides when it is logged that batches are not stored.
    private var trouble = FailureEpisodes()

    private enum Phase { case idle, committing, closed }

    /// Sets the timer for ``Ledger/settleOwed()``, in milliseconds, in place of an earlier one.
    typealias Rest = (Int) -> Void

    /// Copies a snapshot on another thread, and tells the shard.
    typealias Copy = (any StoreSnapshot, BackupRequest) -> Void

    /// Reads partitions that the node has taken, and gives them to the shards.
    typealias Take = (Set<Partition>, QueueRow) -> Void

    /// A ledger over `store`. `post` sends a message to a shard. `copy` copies a snapshot and posts
    /// ``RegistryMessage/applied(ticket:_:)`` at its end. `rest` and `time` are timers and the clock. `onClosed` is
    /// called after a ``LedgerCommand/close``. Without a cluster nothing is taken.
    init(
        store: any Store,
        shardCount: Int,
        log: Log,
        post: @escaping (ShardMessage, Int) -> Void,
        copy: @escaping Copy,
        rest: @escaping Rest,
        time: LedgerTime,
        measures: LedgerMeasures = LedgerMeasures(),
        gather: GroupCommitPolicy = GroupCommitPolicy(),
        take: @escaping Take = { _, _ in preconditionFailure("a relay without a cluster takes nothing") },
        onClosed: @escaping () -> Void
    ) {
        self.store = store
        self.shardCount = shardCount
        self.log = log
        self.post = post
        self.copy = copy
        self.rest = rest
        self.time = time
        self.measures = measures
        self.gather = gather
        self.take = take
        self.onClosed = onClosed
    }

    /// Takes commands in the order of their arrival. After a ``LedgerCommand/close`` nobody waits for answers any more,
    /// and the commands of shards whose connections are gone are not needed.
    func receive(_ commands: [LedgerCommand]) {
        guard phase != .closed else { return }
        waiting.add(commands)
        commitNext()
    }

    /// The time to wait for more commands is over.
    func goOn() { commitNext() }

    /// Begins a commit of what has arrived, unless one is under way, which continues when it ends, or more commands are
    /// waited for.
    private func commitNext() {
        while phase == .idle, waiting.count > 0 {
            if waiting.canAllWait, let deadline = gather.waits(with: waiting.count, at: time.now()) {
                return time.alarm(deadline)
            }
            gather.begins(with: waiting.oldest.count)
            measures.began(waiting.oldest, at: time.now())
            var batch = LedgerBatch()
            for command in waiting.oldest { batch.add(command) }
            waiting.removeOldest()
            commit(batch)
        }
    }

    private func commit(_ gathered: LedgerBatch) {
        var batch = gathered
        owed.takeAll(into: &batch.queue)
        change(batch.registryChanges)
        // Remove doubtful rows once more at the end: the next process would treat them as accepted pushes.
        if batch.queue.isEmpty, !(owed.isInDoubt && (batch.endsDoubt || batch.closes)) {
            finish(batch, .success(()))
            return
        }
        phase = .committing
        let began = time.now()
        store.commit(batch.queue) { [self] result in
            phase = .idle
            measures.ended(result, of: batch.queue, began: began, at: time.now())
            let early = waiting.count + time.arrived()
            gather.ended(answered: batch.queue.enqueued.count, early: early, began: began, at: time.now())
            if let milliseconds = owed.noteEnd(result, of: batch.queue) { rest(milliseconds) }
            note(result, of: batch.queue)
            tell(batch, result)
            finish(batch, result)
            if owed.goesFirst, phase != .closed { commit(LedgerBatch()) }
            commitNext()
        }
    }

    /// Changes of the registry that arrived together share one transaction, because devices enrol by the thousand. If
    /// it fails, each change gets a transaction of its own, so that one does not fail because of another.
    private func change(_ orders: [LedgerBatch.RegistryOrder]) {
        guard orders.count > 1 else { return orders.forEach(changeAlone) }
        store.apply(orders.flatMap(\.changes)) { [self] result in
            guard case .success = result else { return orders.forEach(changeAlone) }
            for order in orders { post(.registry(.applied(ticket: order.ticket, result)), order.shard) }
        }
    }

    private func changeAlone(_ order: LedgerBatch.RegistryOrder) {
        store.apply(order.changes) { [self] result in
            // A device that comes too late for a key is told so, and is no failure of the store.
            if case .failure(let error) = result, error.kind != .usedUp {
                log.error("the registry was not changed: \(error)", kind: "registry: \(error)")
            }
            post(.registry(.applied(ticket: order.ticket, result)), order.shard)
        }
    }

    /// The pause is over: tries the owed removals again, unless a batch has done so meanwhile or is under way.
    func settleOwed() {
        guard !owed.isEmpty, phase == .idle else { return }
        var batch = LedgerBatch()
        batch.endsDoubt = true
        commit(batch)
    }

    /// Logs when storing begins to fail and when it works again, instead of each failed batch. A batch that only
    /// removes rows proves nothing.
    private func note(_ result: Result<Void, StoreError>, of batch: QueueBatch) {
        switch result {
        case .success:
            guard !batch.enqueued.isEmpty, let failures = trouble.succeeded(at: time.now()) else { return }
            let batches = failures == 1 ? "1 batch was" : "\(failures) batches were"
            log.notice("notifications are stored again; \(batches) not")
        case .failure(let error):
            guard trouble.failed(error, at: time.now()) else { return }
            log.error("notifications are not stored for now: \(error)")
        }
    }

    /// Tells the homes the result for their notifications.
    private func tell(_ batch: LedgerBatch, _ result: Result<Void, StoreError>) {
        let failure: Rejection? =
            switch result {
            case .success: nil
            case .failure(let error): error.rejection
            }
        var rows = [[StoredRow]](repeating: [], count: shardCount)
        for queued in batch.queue.enqueued {
            let device = queued.notification.device
            rows[device.home(among: shardCount)].append(StoredRow(device: device, row: queued.row))
        }
        for (shard, rows) in rows.enumerated() where !rows.isEmpty {
            post(.push(.stored(rows, failure: failure)), shard)
        }
    }

    /// What follows a commit. Reads that were asked for after a change must see it.
    private func finish(_ batch: LedgerBatch, _ result: Result<Void, StoreError>) {
        for confirmation in batch.confirmations {
            post(.registry(.applied(ticket: confirmation.ticket, result)), confirmation.shard)
        }
        for load in batch.loads {
            store.read(load.rows) { [self] result in
                if case .failure(let error) = result {
                    log.error("stored notifications cannot be read: \(error)", kind: "not read: \(error)")
                }
                post(
                    .push(.loaded(load.device, asked: load.rows, result)),
                    load.device.home(among: shardCount))
            }
        }
        for reading in batch.readings {
            let result = Result { () throws(StoreError) in try store.loadRegistry() }
            post(.registry(.read(ticket: reading.ticket, result)), reading.shard)
        }
        for backup in batch.backups {
            do throws(StoreError) {
                copy(try store.snapshot(), backup)
            } catch {
                post(.registry(.applied(ticket: backup.ticket, .failure(error))), backup.shard)
            }
        }
        for taking in batch.takings { take(taking.partitions, taking.above) }
        if batch.closes {
            phase = .closed
            waiting = WaitingCommands()
            store.close()
            onClosed?()
            onClosed = nil
        }
    }
}

extension StoreError {
    /// The answer to a provider whose push could not be made durable: to repeat it if the cause may pass by itself; or
    /// that the relay is at fault if it will not.
    var rejection: Rejection {
        switch kind {
        case .full, .inputOutput, .busy, .unreachable, .fenced, .misplaced: .serviceUnavailable
        case .unusable, .conflict, .usedUp: .internalServerError
        }
    }
}

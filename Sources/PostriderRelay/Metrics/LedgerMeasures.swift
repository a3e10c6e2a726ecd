import PostriderMetrics
import PostriderNotifications
import Synchronization

/// What the ledger has done, for whoever asks: it is told without waiting for the ledger, which may be waiting for a
/// disk that is stuck.
struct LedgerReport: Sendable {
    /// Batches that were committed. Each is one sync of the write-ahead log.
    var committedBatches: UInt64 = 0
    /// Batches that were not.
    var failedBatches: UInt64 = 0
    /// Notifications that became durable.
    var stored: UInt64 = 0
    /// From the beginning of a commit to its end.
    var commits = Histogram(.latency)
    /// From the moment at which a shard hands a notification over to the beginning of the commit that makes it durable.
    var waits = Histogram(.latency)
    /// The failure of the last batch, and when it failed, in monotonic nanoseconds; nil: the last batch was committed.
    var failure: (sentence: String, at: UInt64)?

    /// Why pushes are not stored; nil: they are, or nothing has failed for a minute. Then it is worth another try:
    /// nothing but a push can show that the disk is well.
    func presentFailure(at now: UInt64) -> String? {
        failure.flatMap { now < $0.at + FailureEpisodes.quiet ? $0.sentence : nil }
    }
}

/// Where the ledger writes its ``LedgerReport``: a lock for each batch.
final class LedgerMeasures: Sendable {
    private let state = Mutex(LedgerReport())

    var report: LedgerReport { state.withLock { $0 } }

    /// A batch of these letters begins.
    func began(_ letters: ArraySlice<LedgerCommand>, at now: UInt64) {
        state.withLock { state in
            for case .store(_, let postedAt) in letters {
                state.waits.record(nanoseconds: now - min(postedAt, now))
            }
        }
    }

    /// A batch is over.
    func ended(
        _ result: Result<Void, StoreError>, of batch: QueueBatch, began: UInt64, at now: UInt64
    ) {
        state.withLock { state in
            switch result {
            case .success:
                state.committedBatches += 1
                state.stored += UInt64(batch.enqueued.count)
                state.commits.record(nanoseconds: now - min(began, now))
                if !batch.enqueued.isEmpty { state.failure = nil }
            case .failure(let error):
                state.failedBatches += 1
                state.failure = (error.description, now)
            }
        }
    }
}

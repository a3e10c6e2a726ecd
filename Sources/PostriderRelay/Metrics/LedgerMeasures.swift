import PostriderMetrics
import PostriderNotifications
import Synchronization

/// What the ledger has done. It can be read without waiting for the ledger, which may itself be waiting for a disk that
/// hangs.
struct LedgerReport: Sendable {
    /// Batches that were committed. Each is one sync of the write-ahead log.
    var committedBatches: UInt64 = 0
    /// Batches that failed.
    var failedBatches: UInt64 = 0
    /// Notifications that became durable.
    var stored: UInt64 = 0
    /// Time from the beginning of a commit to its end.
    var commits = Histogram(.latency)
    /// Time from when a shard posts a notification to the beginning of the commit that makes it durable.
    var waits = Histogram(.latency)
    /// The failure of the last batch, and its moment in monotonic nanoseconds; nil if the last batch was committed.
    var failure: (sentence: String, at: UInt64)?

    /// Why pushes are not stored; nil if they are, or if nothing has failed for a minute: then the relay counts as
    /// ready again, because only a push can show that the disk works.
    func presentFailure(at now: UInt64) -> String? {
        failure.flatMap { now < $0.at + FailureEpisodes.quiet ? $0.sentence : nil }
    }
}

/// The ledger's report, behind a lock that is taken once for each batch.
final class LedgerMeasures: Sendable {
    private let state = Mutex(LedgerReport())

    var report: LedgerReport { state.withLock { $0 } }

    /// A batch of these commands begins.
    func began(_ messages: ArraySlice<LedgerCommand>, at now: UInt64) {
        state.withLock { state in
            for case .store(_, let postedAt) in messages {
                state.waits.record(nanoseconds: now - min(postedAt, now))
            }
        }
    }

    /// A batch has ended.
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

import Dispatch
import PostriderNotifications
import Synchronization

/// Keeps the write-ahead log of one database bounded without making commits wait for the copying.
///
/// A thread with its own connection copies the log into the file while commits go on. Since commits go on, that
/// thread alone would never catch up, and the log would never restart. So the committing thread copies the few
/// remaining pages after its next commit. No commit therefore waits for more than the rest of one round, and the log
/// holds at most the threshold and what is committed during two rounds.
final class Checkpointer: Sendable {
    private enum Stage {
        /// The log is not copied until it holds this many pages.
        case idle(until: Int)
        case copying
        /// All but the newest pages are copied, and the committing thread copies those.
        case copied
    }

    private let stage: Mutex<Stage>
    private let failed = Atomic(false)
    /// Decides when a log line reports that copying fails, and that it succeeds again.
    private let trouble = Mutex(FailureEpisodes())
    /// The connection that copies; nil after `stop()`.
    private let connection: Mutex<Database?>
    private let queue = DispatchQueue(label: "postrider.checkpoint")
    private let thresholdPages: Int
    private let log: Log
    private let now: @Sendable () -> UInt64

    /// Makes a checkpointer, which starts to copy when the log holds `thresholdPages` pages.
    ///
    /// - Parameter now: returns monotonic nanoseconds.
    init(
        of database: Database, thresholdPages: Int, log: Log,
        now: @escaping @Sendable () -> UInt64 = { DispatchTime.now().uptimeNanoseconds }
    ) throws(StoreError) {
        self.now = now
        stage = Mutex(.idle(until: thresholdPages))
        connection = Mutex(try database.sibling())
        self.thresholdPages = thresholdPages
        self.log = log
    }

    /// Starts or finishes copying if that is due. The committing thread calls it after each commit.
    func committed(on database: Database) {
        switch turn(logPages: database.logPages, isTight: database.isTight) {
        case .none: break
        case .copy: queue.async { self.copy() }
        case .finish: attempt(on: database)
        }
    }

    /// Whether the disk failed while the log was copied. The kernel may have dropped pages that a failed sync did not
    /// write, and SQLite does not write them again, so the file must be recovered before the next commit.
    var hasFailed: Bool { failed.load(ordering: .acquiring) }

    /// Waits for copying under way, and makes no more copies.
    func stop() {
        connection.withLock { $0 = nil }
    }

    private enum Turn {
        case none, copy, finish
    }

    private func turn(logPages: Int, isTight: Bool) -> Turn {
        stage.withLock { stage in
            switch stage {
            case .idle(let until):
                guard logPages >= until || isTight else { return .none }
                stage = .copying
                return .copy
            case .copying:
                return .none
            case .copied:
                stage = .idle(until: thresholdPages)
                return .finish
            }
        }
    }

    /// Copies twice: the second, short round copies what was committed during the first, long one.
    private func copy() {
        connection.withLock { connection in
            guard let connection else { return }
            attempt(on: connection)
            attempt(on: connection)
        }
        stage.withLock { $0 = .copied }
    }

    /// Copies once. If it fails, nothing is lost, because the log keeps everything.
    private func attempt(on database: Database) {
        do throws(StoreError) {
            try database.checkpoint()
            note(nil, of: database.path)
        } catch {
            if error.kind == .inputOutput { failed.store(true, ordering: .releasing) }
            note(error, of: database.path)
        }
    }

    /// Logs when copying begins to fail and when it succeeds again. ``FailureEpisodes`` limits these lines, because
    /// on a full disk copying fails and succeeds by turns.
    func note(_ failure: StoreError?, of path: String) {
        if let failure {
            guard trouble.withLock({ $0.failed(failure, at: now()) }) else { return }
            log.warning(
                "no checkpoint of \(path) (its write-ahead log cannot be copied into it) for now: \(failure)")
        } else if trouble.withLock({ $0.succeeded(at: now()) }) != nil {
            log.notice("checkpoints of \(path) succeed again")
        }
    }
}

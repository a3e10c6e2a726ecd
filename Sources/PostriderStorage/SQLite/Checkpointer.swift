import Dispatch
import PostriderNotifications
import Synchronization

/// Keeps the write-ahead log of one database bounded without making commits wait for the copying.
///
/// A thread of its own, with a connection of its own, copies the log into the file while commits go on.
/// Because they go on, it alone would never catch up and the log would never start anew: the committing
/// thread copies the few pages that are left after the next commit. So no commit meets the work of more than
/// one round's tail, and the log holds the threshold and what is committed during two rounds of copying.
final class Checkpointer: Sendable {
    private enum Stage {
        /// The log is left alone until it holds this many pages.
        case idle(until: Int)
        case copying
        /// All but the newest pages are copied.
        case copied
    }

    private let stage: Mutex<Stage>
    private let failed = Atomic(false)
    /// When the log is told that the copying fails, and that it succeeds again.
    private let trouble = Mutex(FailureEpisodes())
    /// Nil once stopped.
    private let connection: Mutex<Database?>
    private let queue = DispatchQueue(label: "postrider.checkpoint")
    private let thresholdPages: Int
    private let log: Log
    private let now: @Sendable () -> UInt64

    /// A checkpointer for this database; its work starts when the log holds `thresholdPages` pages.
    ///
    /// - Parameter now: monotonic nanoseconds.
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

    /// To be called on the committing thread after each commit.
    func committed(on database: Database) {
        switch turn(logPages: database.logPages, isTight: database.isTight) {
        case .none: break
        case .copy: queue.async { self.copy() }
        case .finish: attempt(on: database)
        }
    }

    /// Whether the disk failed under a copying. What a failed sync has not written the kernel may have
    /// forgotten, and SQLite does not write it again: the file must be opened anew before the next commit.
    var hasFailed: Bool { failed.load(ordering: .acquiring) }

    /// Waits for copying under way and ends the work.
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

    /// Copies twice: what was committed during the long first round is copied in the short second one.
    private func copy() {
        connection.withLock { connection in
            guard let connection else { return }
            attempt(on: connection)
            attempt(on: connection)
        }
        stage.withLock { $0 = .copied }
    }

    /// A checkpoint that fails loses nothing: the log keeps everything.
    private func attempt(on database: Database) {
        do throws(StoreError) {
            try database.checkpoint()
            note(nil, of: database.path)
        } catch {
            if error.kind == .inputOutput { failed.store(true, ordering: .releasing) }
            note(error, of: database.path)
        }
    }

    /// Says when copying the log of a file begins to fail and when it succeeds again. On a full disk it does both in
    /// turn, each time that a little room is made.
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

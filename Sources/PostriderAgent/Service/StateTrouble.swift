import PostriderNotifications
import PostriderTransport

/// Logs that the agent's disk refuses changes. What failed is tried again and again, so a line for each failure would
/// repeat for ever.
final class StateTrouble {
    private let state: AgentState
    private let scheduler: any Scheduler
    private let log: Log
    private var episodes = FailureEpisodes()
    /// How many transactions had succeeded when the last change failed.
    private var commits = 0
    /// The last failure that was logged and that no further attempt mends, such as a damaged row.
    private var lasting: StoreError?

    init(_ state: AgentState, scheduler: any Scheduler, log: Log) {
        self.state = state
        self.scheduler = scheduler
        self.log = log
    }

    /// Whether the disk refuses changes at present.
    var isPresent: Bool { episodes.isPresent }

    /// A change or a read of the state has failed.
    func note(_ error: any Error) {
        guard let error = error as? StoreError else { return log.error("\(error)") }
        switch error.kind {
        case .full, .inputOutput, .busy, .unreachable:
            commits = state.commits
            if episodes.failed(error, at: scheduler.now) {
                log.error("the agent's state is not stored for now: \(error)")
            }
        case .unusable, .conflict, .fenced, .misplaced, .usedUp:
            if lasting != error { log.error("\(error)") }
            lasting = error
        }
    }

    /// Checks whether something has been stored since.
    func look() {
        guard isPresent, state.commits > commits, let failures = episodes.succeeded(at: scheduler.now) else {
            return
        }
        let attempts = failures == 1 ? "1 attempt" : "\(failures) attempts"
        log.notice("the agent's state is stored again; \(attempts) had failed")
    }
}

import Glibc
import PostriderNotifications
import Synchronization

/// Whether other nodes of the cluster have declared this one dead. Then it ends in order, and not with 0: what it has
/// of its devices is worth nothing any more, and a supervisor starts it again as a node without any.
final class MembershipLoss: Sendable {
    private let flag = Atomic(false)

    /// Whether it has happened.
    var hasHappened: Bool { flag.load(ordering: .acquiring) }

    /// It has happened, for the reason that a part of a sentence says.
    func note(_ reason: String, _ log: Log) {
        flag.store(true, ordering: .releasing)
        log.error("this relay ends, and is to be started again: \(reason)")
        kill(getpid(), SIGTERM)
    }
}

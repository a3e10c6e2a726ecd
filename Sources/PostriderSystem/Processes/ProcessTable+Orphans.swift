internal import CPostriderSystem
internal import Glibc
public import PostriderTransport

/// Waits for processes that this process inherited because their parent has ended. The kernel gives all orphans of a
/// container to its first process; an orphan that is not waited for stays a zombie and keeps its number.
extension ProcessTable {
    /// Waits for orphans from now on if this is the first process of its PID namespace. In any other process this
    /// does nothing, because the system's own first process gets the orphans.
    ///
    /// All threads must have blocked SIGCHLD by ``Signals/block(_:)``. Other code in this process may start processes
    /// only if it does not need to learn how they ended.
    public func reapOrphansAsFirstProcess() throws(TransportError) {
        guard getpid() == 1 else { return }
        try reapOrphans()
    }

    func reapOrphans() throws(TransportError) {
        reapsOrphans = true
        try loop.onSignal([SIGCHLD]) { [self] _ in reap() }
        reap()
    }

    /// Waits for orphans that have ended. The kernel reports one ended process at a time (`WNOWAIT`), and the same one
    /// until it is waited for. If that is a child of this table, whose end ``ChildProcess`` reports, this stops, and
    /// continues after the child has been waited for.
    func reap() {
        while true {
            let identifier = csystem_ended_child()
            guard identifier > 0, !children.contains(identifier) else { return }
            _ = systemCall("waitpid") { Int(waitpid(identifier, nil, WNOHANG)) }
        }
    }
}

internal import CPostriderLinux
internal import Glibc

/// Waits for processes that this process inherited because their parent has ended. The kernel gives all orphans of a
/// container to its first process; an orphan that is not waited for stays a zombie and keeps its number.
///
/// It does not wait for the loop's own children, whose ends ``ChildProcess`` reports: it looks which process has
/// ended without waiting for it (`WNOWAIT`), and then waits by number if that is not one of them.
final class OrphanReaper {
    private unowned let loop: EventLoop

    init(on loop: EventLoop) { self.loop = loop }

    /// Waits for orphans that have ended. The kernel reports one ended process at a time, and the same one until it
    /// is waited for. If that is a child of the loop, this stops, and continues after the child has been waited for.
    func reap() {
        while true {
            let identifier = clinux_ended_child()
            guard identifier > 0, !loop.children.contains(identifier) else { return }
            _ = systemCall("waitpid") { Int(waitpid(identifier, nil, WNOHANG)) }
        }
    }
}

extension EventLoop {
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
        let reaper = OrphanReaper(on: self)
        self.reaper = reaper
        try onSignal([SIGCHLD]) { _ in reaper.reap() }
        reaper.reap()
    }
}

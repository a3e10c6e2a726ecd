internal import CPostriderLinux
internal import Glibc

/// Waits for processes whose parent this process has become because their own has ended. The kernel gives all orphans
/// of a container to its first process; one that it does not wait for stays a zombie and keeps its number.
///
/// It does not wait for the loop's own children, whose endings ``ChildProcess`` tells: it looks who has ended
/// (`WNOWAIT`), and waits by number for whoever is not one of them.
final class OrphanReaper {
    private unowned let loop: EventLoop

    init(on loop: EventLoop) { self.loop = loop }

    /// Reaps the orphans that have ended. The kernel names one process that has ended, and the same again until it has
    /// been waited for; where that is a child of the loop's own, the rest follows when the child has been heard of.
    func reap() {
        while true {
            let identifier = clinux_ended_child()
            guard identifier > 0, !loop.children.contains(identifier) else { return }
            _ = systemCall("waitpid") { Int(waitpid(identifier, nil, WNOHANG)) }
        }
    }
}

extension EventLoop {
    /// Has orphans waited for from now on, where this is the first process of its PID namespace. Elsewhere the system's
    /// own first process gets them, and nothing happens.
    ///
    /// SIGCHLD must have been kept from all threads by ``Signals/block(_:)``. Whoever else starts processes in this
    /// process must not need their endings.
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

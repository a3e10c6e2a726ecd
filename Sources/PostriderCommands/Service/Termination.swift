import Glibc
package import PostriderSystem
package import PostriderTransport

/// Signals that a command can wait for: SIGTERM and SIGINT, and SIGHUP if it is blocked.
package enum Termination {
    /// The request that a signal makes.
    package enum Request: Equatable {
        /// To end in order.
        case end
        /// To read the settings and files again that may have changed.
        case reload(by: SignalSender?)
    }

    private static let signals = [SIGTERM, SIGINT, SIGHUP]

    /// Blocks the signals in all threads that are started later. Only `main` calls this. SIGCHLD is for an agent that
    /// is the first process of a container; nothing else uses it.
    package static func block(for command: any Command.Type) {
        Signals.block(command.reloads ? signals + [SIGCHLD] : [SIGTERM, SIGINT])
    }

    /// The requests from now on, received on a thread of its own. Only for a command that
    /// ``Command/endsInGoodOrder``.
    package static func requests() throws(TransportError) -> AsyncStream<Request> {
        let (stream, requests) = AsyncStream<Request>.makeStream()
        let hadTerminal = isatty(STDERR_FILENO) == 1
        _ = try Thread.spawn(name: "signals") {
            do throws(TransportError) {
                let loop = try EventLoop()
                try loop.onSignalOfSender(signals) { signal, sender in
                    // SIGHUP also means that the terminal was closed. The command ends then, because the user could
                    // not end it later.
                    let hasLostTerminal = hadTerminal && isatty(STDERR_FILENO) == 0
                    requests.yield(signal == SIGHUP && !hasLostTerminal ? .reload(by: sender) : .end)
                }
                loop.run()
            } catch {
                Console.complain("postrider: \(error)")
                requests.finish()
            }
        }
        return stream
    }
}

import Glibc
import PostriderTransport

/// Signals as something that a command can wait for: SIGTERM and SIGINT, and SIGHUP where it is kept from the process.
enum Termination {
    /// What a signal asks for.
    enum Request: Equatable {
        /// To end in good order.
        case end
        /// To read the files again that can have changed.
        case reload
    }

    private static let signals = [SIGTERM, SIGINT, SIGHUP]

    /// Keeps the signals from all threads that are still to be started. For `main` only. SIGCHLD is for an agent that
    /// is the first process of a container; nobody else hears it.
    static func block(for command: any Command.Type) {
        Signals.block(command.reloads ? signals + [SIGCHLD] : [SIGTERM, SIGINT])
    }

    /// Every request from now on; a thread of its own hears them. For a command that ``Command/endsInGoodOrder``.
    static func requests() throws(TransportError) -> AsyncStream<Request> {
        let (stream, requests) = AsyncStream<Request>.makeStream()
        let hadTerminal = isatty(STDERR_FILENO) == 1
        _ = try Thread.spawn(name: "signals") {
            do throws(TransportError) {
                let loop = try EventLoop()
                try loop.onSignal(signals) { signal in
                    // A terminal that was closed sends SIGHUP too: nobody is there who would end this later.
                    let hasLostTerminal = hadTerminal && isatty(STDERR_FILENO) == 0
                    requests.yield(signal == SIGHUP && !hasLostTerminal ? .reload : .end)
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

import Glibc
import Transport

/// SIGTERM and SIGINT as something that a command can wait for.
enum Termination {
    private static let signals = [SIGTERM, SIGINT]

    /// Keeps the signals from all threads that are still to be started. For `main` only.
    static func block() { Signals.block(signals) }

    /// Every wish to end from now on; a thread of its own hears them. For a command that ``Command/endsInGoodOrder``.
    static func requests() throws(TransportError) -> AsyncStream<Void> {
        let (stream, requests) = AsyncStream<Void>.makeStream()
        _ = try Thread.spawn(name: "signals") {
            do throws(TransportError) {
                let loop = try EventLoop()
                try loop.onSignal(signals) { _ in requests.yield() }
                loop.run()
            } catch {
                Console.complain("postrider: \(error)")
                requests.finish()
            }
        }
        return stream
    }
}

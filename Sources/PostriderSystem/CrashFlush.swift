internal import CPostriderSystem
internal import Glibc
public import Synchronization

/// Gives the thread that writes the log a moment to finish when the process crashes, so that the lines before the
/// crash are not lost.
public enum CrashFlush {
    /// The number of lines that were logged and are not written yet.
    public static let unwritten = Atomic<Int>(0)

    /// The most milliseconds that a crash waits for the log, because the log's reader may have stopped.
    private static let steps = 20
    private static let stepMilliseconds: Int32 = 10

    /// Makes fatal signals wait for the log before they end the process. A signal that already has a handler (of a
    /// sanitizer or of Swift's backtraces) keeps it. Call it before threads start.
    public static func waitForLog() {
        // Initialises the global now, because a signal handler must not do it.
        _ = unwritten.load(ordering: .relaxed)
        for number in [SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV] {
            var present = sigaction()
            guard unsafe sigaction(number, nil, &present) == 0,
                unsafe present.__sigaction_handler.sa_handler == nil
            else { continue }
            var action = sigaction()
            // SA_RESETHAND restores the default action, so the raised signal ends the process as it would have
            // without a handler.
            action.sa_flags = Int32(bitPattern: UInt32(SA_RESETHAND))
            unsafe action.__sigaction_handler.sa_handler = { number in CrashFlush.wait(number) }
            _ = unsafe sigaction(number, &action, nil)
        }
    }

    /// Calls only what signal-safety(7) allows: poll and raise.
    private static func wait(_ number: Int32) {
        for _ in 0..<steps where unwritten.load(ordering: .relaxed) > 0 {
            _ = poll(nil, 0, stepMilliseconds)
        }
        _ = raise(number)
    }
}

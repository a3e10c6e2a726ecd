internal import CPostriderLinux
internal import Glibc
public import Synchronization

/// Gives the thread that writes the log a moment when the process crashes, so that the lines before the crash are not
/// lost with it.
public enum LastWords {
    /// Lines that were logged and are not written yet.
    public static let unwritten = Atomic<Int>(0)

    /// Milliseconds that a crash waits for them at most: nobody may read them.
    private static let steps = 20
    private static let stepMilliseconds: Int32 = 10

    /// Has signals of a crash wait for the log before they end the process. A signal that is handled already (by a
    /// sanitizer, by Swift's backtraces) is left alone. To be called before threads start.
    public static func waitForLog() {
        // A first look: the handler must not be the one that makes the number.
        _ = unwritten.load(ordering: .relaxed)
        for number in [SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV] {
            var present = sigaction()
            guard unsafe sigaction(number, nil, &present) == 0,
                unsafe present.__sigaction_handler.sa_handler == nil
            else { continue }
            var action = sigaction()
            // The default is back when the handler runs: the signal ends the process as it would have.
            action.sa_flags = Int32(bitPattern: UInt32(SA_RESETHAND))
            unsafe action.__sigaction_handler.sa_handler = { number in LastWords.wait(number) }
            _ = unsafe sigaction(number, &action, nil)
        }
    }

    /// Only what signal-safety(7) allows: poll and raise.
    private static func wait(_ number: Int32) {
        for _ in 0..<steps where unwritten.load(ordering: .relaxed) > 0 {
            _ = poll(nil, 0, stepMilliseconds)
        }
        _ = raise(number)
    }
}

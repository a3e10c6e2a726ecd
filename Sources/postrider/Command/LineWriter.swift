import Dispatch
import PostriderNotifications
import PostriderTransport
import Synchronization

/// Writes lines on a thread of its own: a loop that has something to say never waits for whoever reads it.
///
/// Lines wait in memory, up to ``Notifications/Limits/logLines`` and ``Notifications/Limits/logBytes``. Lines for which
/// there is no room are dropped, and one line has their number when there is room again.
final class LineWriter: Sendable {
    /// What an idle writer may have to say.
    struct Idle: Sendable {
        /// Lines that have become due.
        var lines: [String] = []
        /// When to ask again, in milliseconds; nil if only new lines can change the answer.
        var milliseconds: Int?
    }

    private struct Line {
        let text: String
        let isDone: (@Sendable (Bool) -> Void)?
    }

    private struct State {
        var lines: [Line] = []
        var byteCount = 0
        var droppedCount = 0
        /// Whether the thread has been woken and has not looked since.
        var isRung = false
        var isWriting = false
        /// Callers of ``flush(milliseconds:)``.
        var waiting: [DispatchSemaphore] = []

        var isEmpty: Bool { lines.isEmpty && droppedCount == 0 && !isWriting }
    }

    private let state = Mutex(State())
    private let bell = DispatchSemaphore(value: 0)
    private let write: @Sendable (String) -> Bool
    private let dropped: @Sendable (Int) -> String
    private let idle: @Sendable () -> Idle
    private let counter: @Sendable (Int) -> Void

    /// Starts the thread.
    ///
    /// - Parameters:
    ///   - name: of the thread.
    ///   - write: writes one line, and may take as long as it likes. False: it could not.
    ///   - dropped: the line that tells how many were dropped.
    ///   - idle: asked when all lines are written.
    ///   - counter: told of each change of the number of lines that are not written yet.
    init(
        name: String, write: @escaping @Sendable (String) -> Bool,
        dropped: @escaping @Sendable (Int) -> String, idle: @escaping @Sendable () -> Idle = { Idle() },
        counter: @escaping @Sendable (Int) -> Void = { _ in }
    ) throws(TransportError) {
        self.write = write
        self.dropped = dropped
        self.idle = idle
        self.counter = counter
        _ = try Thread.spawn(name: name) { [self] in run() }
    }

    /// Has a line written. Never waits.
    ///
    /// - Parameter isDone: called on the writer's thread when the line was written, or could not be.
    /// - Returns: false: there is no room, and the line was dropped.
    @discardableResult
    func add(_ text: String, isDone: (@Sendable (Bool) -> Void)? = nil) -> Bool {
        let isTaken = state.withLock { state in
            let count = text.utf8.count + 1
            guard state.lines.count < Limits.logLines, state.byteCount + count <= Limits.logBytes else {
                state.droppedCount += 1
                return false
            }
            state.lines.append(Line(text: text, isDone: isDone))
            state.byteCount += count
            return true
        }
        if isTaken { counter(1) }
        ring()
        return isTaken
    }

    /// Has the thread ask anew whether something is due.
    func ring() {
        let wasRung = state.withLock { state in
            defer { state.isRung = true }
            return state.isRung
        }
        if !wasRung { bell.signal() }
    }

    /// Waits until everything is written.
    ///
    /// - Returns: false: it is not, after this time.
    @discardableResult
    func flush(milliseconds: Int = Limits.logFlushMilliseconds) -> Bool {
        let isWritten = DispatchSemaphore(value: 0)
        let waits = state.withLock { state in
            guard !state.isEmpty else { return false }
            state.waiting.append(isWritten)
            return true
        }
        return !waits || isWritten.wait(timeout: .now() + .milliseconds(milliseconds)) == .success
    }

    private func run() -> Never {
        while true {
            let (lines, droppedCount, waiting) = take()
            for semaphore in waiting { semaphore.signal() }
            guard lines.isEmpty, droppedCount == 0 else {
                for line in lines {
                    let isWritten = write(line.text)
                    counter(-1)
                    line.isDone?(isWritten)
                }
                // They came behind the lines for which there was room.
                if droppedCount > 0 { _ = write(dropped(droppedCount)) }
                continue
            }
            let idle = idle()
            for line in idle.lines { add(line) }
            if let milliseconds = idle.milliseconds {
                _ = bell.wait(timeout: .now() + .milliseconds(milliseconds))
            } else {
                bell.wait()
            }
        }
    }

    /// What is to be written, and who waits for the end of it.
    private func take() -> ([Line], droppedCount: Int, waiting: [DispatchSemaphore]) {
        state.withLock { state in
            state.isRung = false
            let taken = (state.lines, state.droppedCount)
            state.lines = []
            state.byteCount = 0
            state.droppedCount = 0
            state.isWriting = !taken.0.isEmpty || taken.1 > 0
            defer { if !state.isWriting { state.waiting = [] } }
            return (taken.0, taken.1, state.isWriting ? [] : state.waiting)
        }
    }
}

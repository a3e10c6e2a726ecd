import Dispatch
import PostriderNotifications
import PostriderSystem
package import PostriderTransport
import Synchronization

/// Writes lines on a thread of its own, so that a loop which logs never waits for the reader.
///
/// Lines are queued in memory, up to ``Notifications/Limits/logLines`` and ``Notifications/Limits/logBytes``. Lines
/// for which there is no room are dropped, and one line reports their number when there is room again.
package final class LineWriter: Sendable {
    /// What an idle writer has to write.
    package struct Idle: Sendable {
        /// Lines that are due.
        package var lines: [String] = []
        /// When to ask again, in milliseconds; nil if only new lines can change the answer.
        package var milliseconds: Int?
    }

    private struct Line {
        let text: String
        let isDone: (@Sendable (Bool) -> Void)?
    }

    private struct State {
        var lines: [Line] = []
        var byteCount = 0
        var droppedCount = 0
        /// Whether the thread was woken and has not looked at the queue since.
        var isRung = false
        var isWriting = false
        /// The semaphores of callers of ``flush(milliseconds:)``.
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
    ///   - name: the name of the thread.
    ///   - write: writes one line, and may block. Returns false if it could not.
    ///   - dropped: makes the line that tells how many lines were dropped.
    ///   - idle: called when all lines are written.
    ///   - counter: called with each change of the number of lines that are not written yet.
    package init(
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

    /// Queues a line. It never blocks.
    ///
    /// - Parameter isDone: called on the writer's thread when the line was written or could not be.
    /// - Returns: false if there is no room, and the line was dropped.
    @discardableResult
    package func add(_ text: String, isDone: (@Sendable (Bool) -> Void)? = nil) -> Bool {
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

    /// Makes the thread ask `idle` again whether something is due.
    package func ring() {
        let wasRung = state.withLock { state in
            defer { state.isRung = true }
            return state.isRung
        }
        if !wasRung { bell.signal() }
    }

    /// Waits until everything is written.
    ///
    /// - Returns: false if it is not written after this time.
    @discardableResult
    package func flush(milliseconds: Int = Limits.logFlushMilliseconds) -> Bool {
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
                // The dropped lines came after the lines for which there was room.
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

    /// Takes the queued lines, the number of dropped ones, and the callers that wait for the end of them.
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

import Glibc
import PostriderSystem
import PostriderTransport
import Synchronization

/// The process of a relay or device, with the lines that it has printed. It ends with this process.
final class TestProcess: Sendable {
    private let program: RunningProgram
    private let output: ProcessOutput

    private init(_ program: RunningProgram, _ output: ProcessOutput) {
        self.program = program
        self.output = output
    }

    /// Starts Postrider's program with these arguments.
    static func start(_ path: String, _ arguments: [String]) throws(TestRelayError) -> TestProcess {
        var start = ProgramStart(
            path: path, arguments: arguments + ["--parent", "\(getpid())"],
            environment: ProgramStart.ownEnvironment)
        // Relative paths in options of the test are those of the test.
        start.directory = "."
        let output = ProcessOutput()
        do throws(TransportError) {
            let program = try RunningProgram.start(
                start, eachLine: { output.add($0) }, ended: { _ in output.end() })
            return TestProcess(program, output)
        } catch {
            throw TestRelayError(error.description)
        }
    }

    /// The lines so far.
    var lines: [String] { output.lines }

    /// Waits for a line, and returns the first one; nil if the process ends or the time passes without it.
    func line(within time: Duration, where isWanted: @escaping @Sendable (String) -> Bool) async -> String? {
        await output.wait(atMost: time) { lines in lines.contains(where: isWanted) }
        return output.lines.first(where: isWanted)
    }

    /// Waits until the lines fulfil a condition, the process ends, or the time passes.
    func wait(atMost time: Duration, until isDone: @escaping @Sendable ([String]) -> Bool) async {
        await output.wait(atMost: time, until: isDone)
    }

    /// Asks the process to end.
    func terminate() { program.terminate() }

    /// Ends the process, and returns when it has ended. It is killed if it takes longer than 30 seconds.
    func stop() async {
        program.terminate()
        await output.wait(atMost: .seconds(30)) { _ in false }
        program.kill()
        await output.wait(atMost: .seconds(30)) { _ in false }
    }
}

/// The lines that a process has printed, and the tasks that wait for further lines.
private final class ProcessOutput: Sendable {
    private struct Content {
        var lines: [String] = []
        var isOver = false
        var nextWaiter = 0
        var waiters: [Int: Waiter] = [:]
    }

    private struct Waiter {
        let isDone: @Sendable ([String]) -> Bool
        let continuation: CheckedContinuation<Void, Never>
    }

    /// The most lines that are kept. A device prints one for each notification.
    private static let mostLines = 100_000

    private let content = Mutex(Content())

    var lines: [String] { content.withLock { $0.lines } }

    func add(_ line: String) {
        resume { content in
            if content.lines.count < Self.mostLines { content.lines.append(line) }
        }
    }

    func end() { resume { $0.isOver = true } }

    func wait(atMost time: Duration, until isDone: @escaping @Sendable ([String]) -> Bool) async {
        let number = content.withLock { content in
            content.nextWaiter += 1
            return content.nextWaiter
        }
        let timeout = Task {
            try await Task.sleep(for: time)
            content.withLock { $0.waiters.removeValue(forKey: number) }?.continuation.resume()
        }
        await withCheckedContinuation { continuation in
            let isDone = content.withLock { content in
                if content.isOver || isDone(content.lines) { return true }
                content.waiters[number] = Waiter(isDone: isDone, continuation: continuation)
                return false
            }
            if isDone { continuation.resume() }
        }
        timeout.cancel()
    }

    /// Changes the content, and resumes those whose condition holds now.
    private func resume(_ change: @Sendable (inout Content) -> Void) {
        let done = content.withLock { content in
            change(&content)
            let done = content.waiters.filter { content.isOver || $0.value.isDone(content.lines) }
            for number in done.keys { content.waiters[number] = nil }
            return done.values.map(\.continuation)
        }
        for continuation in done { continuation.resume() }
    }
}

import Foundation
import ProgramFixtures
import Synchronization

/// A program that a test runs. Its output is kept line by line. Tests wait for lines and for the end, never for a
/// time.
final class Program: Sendable {
    /// The state of the program so far.
    private struct State {
        var output: [String] = []
        var errors: [String] = []
        /// The number of pipes that are still open.
        var openPipes = 2
        var exitCode: Int32?
        var waiters: [UUID: Waiter] = [:]

        var isOver: Bool { exitCode != nil && openPipes == 0 }
    }

    /// A wait for a condition of the program; `check` returns nil while it does not hold.
    private struct Waiter {
        let check: @Sendable (borrowing State) -> Result<String, Failure>?
        let continuation: CheckedContinuation<String, any Error>
    }

    /// The file name and the arguments, for messages.
    let name: String
    private let child: ChildProgram
    private let state = Mutex(State())

    /// Much longer than anything takes, even with sanitizers on a busy machine.
    static let patienceSeconds = 240

    /// Starts a program.
    ///
    /// - Parameter environment: variables in addition to the tests' environment.
    init(_ executable: URL, _ arguments: [String], environment: [String: String] = [:]) throws {
        name = ([executable.lastPathComponent] + arguments.prefix(2)).joined(separator: " ")
        child = try ChildProgram(
            executable.path, arguments,
            environment: ProcessInfo.processInfo.environment.merging(environment) { $1 },
            directory: Place.root.path, errors: .pipe)
        Thread.detachNewThread { [self] in
            let exitCode = child.waitUntilExit()
            change { $0.exitCode = exitCode }
        }
        follow(child.readOutput) { $0.output.append($1) }
        follow(child.readErrors) { $0.errors.append($1) }
    }

    var processIdentifier: Int32 { child.processIdentifier }
    var isRunning: Bool { state.withLock { $0.exitCode == nil } }
    /// Its lines on stdout.
    var output: [String] { state.withLock { $0.output } }
    /// Its lines on stderr.
    var errors: [String] { state.withLock { $0.errors } }

    /// Waits for the first line of stdout or stderr that is wanted, and returns it.
    @discardableResult
    func line(where isWanted: @escaping @Sendable (String) -> Bool) async throws -> String {
        try await wait(for: "a line") { [name] state in
            if let line = (state.output + state.errors).first(where: isWanted) { return .success(line) }
            return state.isOver ? .failure(Failure("\(name) ended before it wrote a certain line")) : nil
        }
    }

    /// Waits for this many wanted lines of stdout or stderr.
    func lines(_ count: Int, where isWanted: @escaping @Sendable (String) -> Bool) async throws {
        _ = try await wait(for: "\(count) lines") { [name] state in
            if (state.output + state.errors).count(where: isWanted) >= count { return .success("") }
            return state.isOver ? .failure(Failure("\(name) ended before it wrote \(count) lines")) : nil
        }
    }

    /// Waits for the first line that begins with these words, and returns the rest of it.
    @discardableResult
    func line(startingWith words: String) async throws -> String {
        String(try await line { $0.hasPrefix(words) }.dropFirst(words.count))
    }

    /// Waits until the program has ended by itself, and returns its exit code; 128 plus the signal's number after a
    /// signal.
    func exitCode() async throws -> Int32 {
        _ = try await wait(for: "its end") { $0.isOver ? .success("") : nil }
        return state.withLock { $0.exitCode } ?? -1
    }

    /// Sends a signal if the program still runs.
    func send(_ signal: Int32) {
        child.send(signal)
    }

    /// Kills the program, as a power cut would, and returns when it and all processes with its pipes have ended.
    func cutOff() async throws {
        try await strike()
        _ = try await exitCode()
    }

    /// Kills the program and returns when it has ended, even if processes that it started hold its pipes open.
    func strike() async throws {
        send(SIGKILL)
        _ = try await wait(for: "its death") { $0.exitCode == nil ? nil : .success("") }
    }

    /// Its latest output, for messages.
    var transcript: String {
        let (output, errors) = state.withLock { ($0.output.suffix(20), $0.errors.suffix(40)) }
        let ending = isRunning ? "still runs" : "has ended"
        return (["--- \(name) \(ending)"] + output.map { "out: \($0)" } + errors.map { "err: \($0)" })
            .joined(separator: "\n")
    }

    private func wait(
        for something: String, _ check: @escaping @Sendable (borrowing State) -> Result<String, Failure>?
    ) async throws -> String {
        let identifier = UUID()
        let deadline = Task { [name] in
            try await Task.sleep(for: .seconds(Self.patienceSeconds))
            let waiter = state.withLock { $0.waiters.removeValue(forKey: identifier) }
            waiter?.continuation.resume(throwing: Failure("\(name): waited too long for \(something)"))
        }
        defer { deadline.cancel() }
        return try await withCheckedThrowingContinuation { continuation in
            change { $0.waiters[identifier] = Waiter(check: check, continuation: continuation) }
        }
    }

    /// Changes the state and resumes every wait whose condition now holds.
    private func change(_ change: (inout State) -> Void) {
        let over = state.withLock { state in
            change(&state)
            var over: [(CheckedContinuation<String, any Error>, Result<String, Failure>)] = []
            for (identifier, waiter) in state.waiters {
                guard let result = waiter.check(state) else { continue }
                over.append((waiter.continuation, result))
                state.waiters[identifier] = nil
            }
            return over
        }
        for (continuation, result) in over { continuation.resume(with: result) }
    }

    /// Reads one of the outputs line by line until its end, on a thread of its own.
    private func follow(
        _ read: @escaping @Sendable () -> [UInt8], _ add: @escaping @Sendable (inout State, String) -> Void
    ) {
        Thread.detachNewThread { [self] in
            var rest = Data()
            while case let bytes = read(), !bytes.isEmpty {
                rest += bytes
                var lines = rest.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
                rest = Data(lines.removeLast())
                change { state in
                    for line in lines { add(&state, String(decoding: line, as: UTF8.self)) }
                }
            }
            change { state in
                if !rest.isEmpty { add(&state, String(decoding: rest, as: UTF8.self)) }
                state.openPipes -= 1
            }
        }
    }
}

/// An error of a test's program.
struct Failure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

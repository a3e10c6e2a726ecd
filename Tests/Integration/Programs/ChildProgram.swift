import Foundation
import PostriderSystem
import PostriderTransport
import Synchronization

/// A program that a test runs and talks with by pipes.
///
/// Tests use it in place of Foundation's `Process` and `FileHandle`, which end a test process that is as busy as ours:
/// `Process.run()` reads past the end of readdir's buffer if thousands of descriptors are open (pull request 5472 of
/// swift-corelibs-foundation), and `FileHandle.availableData` stops the process if a signal interrupts it.
public final class ChildProgram: Sendable {
    /// What a standard stream of the program is.
    public enum Stream: Sendable {
        /// `/dev/null`.
        case nothing
        /// The test process's own.
        case inherited
        /// A pipe whose other end the test has.
        case pipe
        /// A descriptor of the test process, which stays open there.
        case descriptor(Int32)
        /// The program's standard output; only for its standard error.
        case output
    }

    /// Why a program was not started.
    public struct StartFailure: Error, CustomStringConvertible {
        /// The path and the reason.
        public let description: String
    }

    /// The number of the process.
    public let processIdentifier: Int32
    private let input: PipeEnd?
    private let output: PipeEnd?
    private let errors: PipeEnd?
    /// The exit code, once somebody has waited for the process.
    private let exitCode = Mutex<Int32?>(nil)

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - environment: the whole environment; nil for that of the test process.
    ///   - directory: the working directory; nil for that of the test process.
    public init(
        _ path: String, _ arguments: [String] = [], environment: [String: String]? = nil,
        directory: String? = nil, input: Stream = .nothing, output: Stream = .pipe,
        errors: Stream = .inherited
    ) throws {
        _ = Self.ignoresBrokenPipes
        var program = ProgramStart(
            path: path, arguments: arguments, environment: environment ?? ProcessInfo.processInfo.environment)
        program.directory = directory ?? FileManager.default.currentDirectoryPath
        let (forInput, forOutput) = (StreamEnds(input, inherited: 0), StreamEnds(output, inherited: 1))
        let forErrors = StreamEnds(errors, inherited: 2, output: forOutput.theirs)
        defer { for ends in [forInput, forOutput, forErrors] { ends.closeTheirs() } }
        do throws(SystemError) {
            processIdentifier = try program.spawn(
                StandardDescriptors(
                    input: forInput.theirs, output: forOutput.theirs, errors: forErrors.theirs))
        } catch {
            throw StartFailure(description: "\(path) cannot be started: \(error.text)")
        }
        (self.input, self.output, self.errors) = (forInput.ours, forOutput.ours, forErrors.ours)
    }

    /// A program that has ended does not end the test process that writes to it.
    private static let ignoresBrokenPipes: Void = { signal(SIGPIPE, SIG_IGN) }()

    /// Runs a program to its end, and returns its exit code and what it wrote to both outputs.
    public static func run(
        _ path: String, _ arguments: [String] = [], directory: String? = nil
    ) throws -> (exitCode: Int32, output: String) {
        let program = try ChildProgram(path, arguments, directory: directory, errors: .output)
        let output = program.readToEnd()
        return (program.waitUntilExit(), output)
    }

    /// Waits until the program has written something to its output, and returns it; empty at the end.
    public func readOutput() -> [UInt8] { output?.read() ?? [] }

    /// Waits until the program has written something to its standard error, and returns it; empty at the end.
    public func readErrors() -> [UInt8] { errors?.read() ?? [] }

    /// Returns everything that the program writes until it and its children have closed its output.
    public func readToEnd() -> String {
        var bytes: [UInt8] = []
        while case let more = readOutput(), !more.isEmpty { bytes += more }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Writes to the program's input, if the program still reads it.
    public func write(_ text: String) { input?.write(Array(text.utf8)) }

    /// Ends the program's input.
    public func closeInput() { input?.close() }

    /// Waits for the program's end, and returns its exit code; 128 plus the signal's number after a signal. Several
    /// threads may wait.
    @discardableResult
    public func waitUntilExit() -> Int32 {
        while true {
            // This waits without the lock and leaves the process to be waited for, so that its number is not used again
            // while `send` may use it.
            let result = waitid(P_PID, id_t(processIdentifier), nil, WEXITED | WNOWAIT)
            precondition(result == 0 || errno == EINTR || errno == ECHILD, "waitid: error \(errno)")
            let code = exitCode.withLock { code in
                if code == nil { code = ended() }
                return code
            }
            if let code { return code }
        }
    }

    /// The exit code if the process has ended just now.
    private func ended() -> Int32? {
        var status: Int32 = 0
        guard unsafe waitpid(processIdentifier, &status, WNOHANG) == processIdentifier else { return nil }
        let signal = status & 0x7f
        return signal == 0 ? (status >> 8) & 0xff : 128 + signal
    }

    /// Whether nobody has seen the program's end yet.
    public var isRunning: Bool {
        exitCode.withLock { code in
            if code == nil { code = ended() }
            return code == nil
        }
    }

    /// Sends a signal if the program still runs.
    public func send(_ signal: Int32) {
        exitCode.withLock { code in
            if code == nil { kill(processIdentifier, signal) }
        }
    }
}

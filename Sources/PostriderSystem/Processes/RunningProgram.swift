internal import CPostriderSystem
internal import Glibc
public import PostriderTransport

/// A program that runs while this process goes on. A thread reads its output, and waits for its end.
public final class RunningProgram: Sendable {
    private let process: ProcessDescriptor

    private init(_ process: ProcessDescriptor) { self.process = process }

    /// Starts a program in a process group of its own, with this process's standard error.
    ///
    /// - Parameters:
    ///   - eachLine: called with each line of its standard output as it arrives, on a thread of its own.
    ///   - ended: called once, after the last line, when the program has ended.
    /// - Throws: `TransportError` if the program cannot be started.
    public static func start(
        _ start: ProgramStart, eachLine: @escaping @Sendable (String) -> Void,
        ended: @escaping @Sendable (ProcessEnding) -> Void
    ) throws(TransportError) -> RunningProgram {
        let output: ProgramOutput
        let process: ProcessDescriptor
        do throws(SystemError) {
            output = try ProgramOutput.start(start)
            process = try ProcessDescriptor(of: output.identifier)
        } catch {
            throw TransportError("Cannot start \(start.path): \(error.text).")
        }
        do throws(TransportError) {
            _ = try Thread.spawn(name: "program") { ended(output.readToEnd(eachLine)) }
        } catch {
            process.send(SIGKILL)
            _ = output.readToEnd { _ in }
            throw error
        }
        return RunningProgram(process)
    }

    /// Asks the program to end (SIGTERM).
    public func terminate() { process.send(SIGTERM) }

    /// Ends the program (SIGKILL).
    public func kill() { process.send(SIGKILL) }
}

/// A program that was started, and the reading end of the pipe that is its standard output.
final class ProgramOutput: Sendable {
    let identifier: Int32
    private let descriptor: Descriptor

    private init(_ identifier: Int32, _ descriptor: consuming Descriptor) {
        self.identifier = identifier
        self.descriptor = descriptor
    }

    /// Starts a program with an empty input and this process's standard error.
    static func start(_ start: ProgramStart) throws(SystemError) -> ProgramOutput {
        var ends: [Int32] = [-1, -1]
        _ = try systemCall("pipe2") { unsafe Int(pipe2(&ends, O_CLOEXEC)) }.get()
        let (reading, writing) = (ends[0], ends[1])
        let output = Descriptor(owning: reading)
        return ProgramOutput(try start.spawn(writingTo: Descriptor(owning: writing)), output)
    }

    /// Passes on each line until the end of the output, and waits for the end of the program. It blocks the calling
    /// thread, and is called once.
    func readToEnd(_ eachLine: (String) -> Void) -> ProcessEnding {
        var (rest, some): ([UInt8], [UInt8]) = ([], [UInt8](repeating: 0, count: 65_536))
        while case .done(let count) = systemCall(
            "read", { unsafe read(descriptor.number, &some, some.count) }),
            count > 0
        {
            rest += some.prefix(count)
            while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                eachLine(String(decoding: rest[..<end], as: UTF8.self))
                rest.removeSubrange(...end)
            }
        }
        var status: Int32 = 0
        let waited = systemCall("waitpid") { unsafe Int(waitpid(identifier, &status, 0)) }
        guard case .done(Int(identifier)) = waited else { return .unknown }
        return ProcessEnding(waitStatus: status)
    }
}

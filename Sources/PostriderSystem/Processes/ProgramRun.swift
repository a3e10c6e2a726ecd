internal import CPostriderSystem
internal import Glibc
public import PostriderTransport

/// Which part of a program's output is kept.
public enum KeptOutput: Sendable {
    /// All of its standard output. A program that writes more bytes than this is ended.
    case all(atMost: Int)
    /// The last bytes, at most this many, of its standard output and standard error together. It may write any
    /// amount.
    case tail(Int)
}

/// How a program ended, and the kept part of its output.
public struct ProgramResult: Sendable, Equatable {
    /// How the program ended.
    public let ending: ProcessEnding
    /// The kept part of its output.
    public let output: [UInt8]
    /// Whether the program wrote more than it may and was ended for that.
    public let isCut: Bool

    /// Creates a result from its parts.
    public init(ending: ProcessEnding, output: [UInt8], isCut: Bool = false) {
        self.ending = ending
        self.output = output
        self.isCut = isCut
    }
}

/// A program run on a loop that reads its input from a file and writes its output to a pipe. Its process group is
/// killed when it ends.
public final class ProgramRun {
    private let output: OutputPipe
    private var process: ChildProcess?

    fileprivate init(_ output: OutputPipe) { self.output = output }

    /// The process number.
    public var identifier: Int32 { process?.identifier ?? 0 }
    /// When the process was started, in kernel clock ticks since the machine started.
    public var startedAt: UInt64 { process?.startedAt ?? 0 }

    /// Asks the program to end (SIGTERM).
    public func terminate() { process?.terminate() }

    /// Ends the program with its process group (SIGKILL).
    public func kill() { process?.killGroup() }

    fileprivate func begin(_ process: ChildProcess) {
        self.process = process
        process.endsGroup = true
        output.whenFull = { [unowned process] in process.killGroup() }
    }

    fileprivate func end(_ ending: ProcessEnding) -> ProgramResult {
        output.finish()
        process = nil
        return ProgramResult(ending: ending, output: output.kept, isCut: output.isFull)
    }
}

/// The reading end of the pipe with a program's output, on a loop.
private final class OutputPipe: EventSource {
    private let descriptor: Descriptor
    private unowned let loop: EventLoop
    private let rule: KeptOutput
    private var isWatched = false
    private var bytes: [UInt8] = []
    private(set) var isFull = false
    var whenFull: () -> Void = {}
    private var buffer = [UInt8](repeating: 0, count: OutputPipe.readBytes)

    /// The bytes of one read.
    private static let readBytes = 16_384
    /// The most reads in one turn, so that a program which writes without end does not occupy the loop.
    private static let readsPerTurn = 4
    /// The most reads after the program has ended: as much as a pipe can hold for an unprivileged user
    /// (`/proc/sys/fs/pipe-max-size`, 1 MiB). A process that has left the group may still write.
    private static let readsAtEnd = 64

    init(_ descriptor: consuming Descriptor, _ rule: KeptOutput, on loop: EventLoop) throws(SystemError) {
        self.descriptor = descriptor
        self.rule = rule
        self.loop = loop
        try loop.watch(self.descriptor.number, readableFor: self)
        isWatched = true
    }

    /// The part of the output that the rule keeps.
    var kept: [UInt8] {
        switch rule {
        case .all: bytes
        case .tail(let count): Array(bytes.suffix(count))
        }
    }

    func ready(_ readiness: Readiness) { read(atMost: Self.readsPerTurn) }

    func loopStopped() {}

    /// Reads what is in the pipe, and then closes it.
    func finish() {
        read(atMost: Self.readsAtEnd)
        unwatch()
    }

    private func read(atMost reads: Int) {
        for _ in 0..<reads where isWatched {
            let result = systemCall("read") { unsafe Glibc.read(descriptor.number, &buffer, buffer.count) }
            guard case .done(let count) = result else { return }
            guard count > 0 else { return unwatch() }
            bytes += buffer[..<count]
            switch rule {
            case .all(let limit):
                guard bytes.count > limit else { continue }
                isFull = true
                bytes = []
                unwatch()
                whenFull()
            case .tail(let count):
                if bytes.count > count + Self.readBytes { bytes.removeFirst(bytes.count - count) }
            }
        }
    }

    private func unwatch() {
        guard isWatched else { return }
        isWatched = false
        loop.unwatch(descriptor.number)
    }
}

extension ProcessTable {
    /// Runs a program in a process group of its own, which is killed when the program ends.
    ///
    /// - Parameters:
    ///   - input: the bytes that it reads as its standard input, followed by end of file.
    ///   - rule: which part of its output is kept.
    ///   - ended: called once, when the program has ended; never before this call returns.
    /// - Throws: `TransportError` if the program cannot be started.
    public func run(
        _ start: ProgramStart, input: [UInt8], keeping rule: KeptOutput,
        ended: @escaping (ProgramResult) -> Void
    ) throws(TransportError) -> ProgramRun {
        let pipes: ProgramPipes
        do throws(SystemError) {
            pipes = try ProgramPipes.make(holding: input, rule, on: loop)
        } catch {
            throw TransportError("Cannot run \(start.path): \(error.text).")
        }
        let run = ProgramRun(pipes.output)
        do throws(TransportError) {
            let writing = pipes.writing.number
            let errors: Int32? = if case .tail = rule { writing } else { nil }
            let standard = StandardDescriptors(
                input: pipes.file.number, output: writing, errors: errors)
            run.begin(try self.start(start, standard: standard) { ended(run.end($0)) })
            return run
        } catch {
            _ = run.end(.unknown)
            throw error
        }
    }
}

/// The standard input and output of a program, and the descriptor that its output is read from.
private struct ProgramPipes: ~Copyable {
    let file: Descriptor
    let writing: Descriptor
    let output: OutputPipe

    static func make(
        holding input: [UInt8], _ rule: KeptOutput, on loop: EventLoop
    ) throws(SystemError) -> ProgramPipes {
        var ends: [Int32] = [-1, -1]
        _ = try systemCall("pipe2") { unsafe Int(pipe2(&ends, O_CLOEXEC)) }.get()
        let reading = Descriptor(owning: ends[0])
        let writing = Descriptor(owning: ends[1])
        _ = try systemCall("fcntl") { Int(fcntl(ends[0], F_SETFL, O_NONBLOCK)) }.get()
        let file = try InputFile.make(holding: input)
        let output = try OutputPipe(reading, rule, on: loop)
        return ProgramPipes(file: file, writing: writing, output: output)
    }
}

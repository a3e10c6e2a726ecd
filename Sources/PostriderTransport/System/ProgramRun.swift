internal import CPostriderLinux
internal import Glibc

/// What came of a program that was run for what it writes.
public struct ProgramResult: Sendable, Equatable {
    /// How it ended.
    public let ending: ProcessEnding
    /// What it has written to its standard output.
    public let output: [UInt8]
    /// Whether it has written more than it may; then it was ended.
    public let isCut: Bool

    /// A result from its parts.
    public init(ending: ProcessEnding, output: [UInt8], isCut: Bool = false) {
        self.ending = ending
        self.output = output
        self.isCut = isCut
    }
}

/// A program that reads its input and writes its output, on a loop. Whatever it has started ends with it.
public final class ProgramRun {
    private let output: OutputPipe
    private var process: ChildProcess?

    fileprivate init(_ output: OutputPipe) { self.output = output }

    /// The process's number, and when it was started, in the kernel's ticks since the machine's start.
    public var identifier: Int32 { process?.identifier ?? 0 }
    /// When it was started.
    public var startedAt: UInt64 { process?.startedAt ?? 0 }

    /// Asks it to end.
    public func terminate() { process?.terminate() }

    /// Ends it, with all that it has started.
    public func kill() { process?.killGroup() }

    fileprivate func begin(_ process: ChildProcess) {
        self.process = process
        process.endsGroup = true
        output.whenFull = { [unowned process] in process.killGroup() }
    }

    fileprivate func end(_ ending: ProcessEnding) -> ProgramResult {
        output.finish()
        process = nil
        return ProgramResult(ending: ending, output: output.bytes, isCut: output.isFull)
    }
}

/// The reading end of a pipe, on a loop.
private final class OutputPipe: EventSource {
    private let descriptor: Descriptor
    private unowned let loop: EventLoop
    private let limit: Int
    private var isWatched = false
    private(set) var bytes: [UInt8] = []
    private(set) var isFull = false
    var whenFull: () -> Void = {}
    private var buffer = [UInt8](repeating: 0, count: 4096)

    init(_ descriptor: consuming Descriptor, limit: Int, on loop: EventLoop) throws(SystemError) {
        self.descriptor = descriptor
        self.limit = limit
        self.loop = loop
        _ = try loop.watch(self.descriptor.number, .readable, .source(self))
        isWatched = true
    }

    func ready(_ readiness: Readiness) { read() }

    func loopStopped() {}

    /// Takes what is there still; nobody waits for more.
    func finish() {
        read()
        unwatch()
    }

    private func read() {
        while isWatched {
            let result = systemCall("read") { unsafe Glibc.read(descriptor.number, &buffer, buffer.count) }
            guard case .done(let count) = result else { return }
            guard count > 0 else { return unwatch() }
            bytes += buffer[..<count]
            guard bytes.count > limit else { continue }
            isFull = true
            bytes = []
            unwatch()
            whenFull()
        }
    }

    private func unwatch() {
        guard isWatched else { return }
        isWatched = false
        loop.unwatch(descriptor.number)
    }
}

extension EventLoop {
    /// Runs a program for what it writes, in a process group of its own that ends with it.
    ///
    /// - Parameters:
    ///   - input: what it reads as its standard input, to the end.
    ///   - limit: bytes that it may write; with more it is ended.
    ///   - ended: called once, when it has ended.
    public func run(
        _ start: ProgramStart, input: [UInt8], limit: Int, ended: @escaping (ProgramResult) -> Void
    ) throws(TransportError) -> ProgramRun {
        let pipes: ProgramPipes
        do throws(SystemError) {
            pipes = try ProgramPipes.make(holding: input, limit: limit, on: self)
        } catch {
            throw TransportError("Cannot run \(start.path): \(error.text).")
        }
        let run = ProgramRun(pipes.output)
        do throws(TransportError) {
            let standard = StandardDescriptors(
                input: pipes.file.number, output: pipes.writing.number)
            run.begin(try self.start(start, standard: standard) { ended(run.end($0)) })
            return run
        } catch {
            _ = run.end(.unknown)
            throw error
        }
    }
}

/// What a program is given as its standard input and output, and where its output is read.
private struct ProgramPipes: ~Copyable {
    let file: Descriptor
    let writing: Descriptor
    let output: OutputPipe

    static func make(
        holding input: [UInt8], limit: Int, on loop: EventLoop
    ) throws(SystemError) -> ProgramPipes {
        var ends: [Int32] = [-1, -1]
        _ = try systemCall("pipe2") { unsafe Int(pipe2(&ends, O_CLOEXEC)) }.get()
        let reading = Descriptor(owning: ends[0])
        let writing = Descriptor(owning: ends[1])
        _ = try systemCall("fcntl") { Int(fcntl(ends[0], F_SETFL, O_NONBLOCK)) }.get()
        let file = try InputFile.make(holding: input)
        let output = try OutputPipe(reading, limit: limit, on: loop)
        return ProgramPipes(file: file, writing: writing, output: output)
    }
}

internal import CPostriderLinux
internal import Glibc

/// What came of a program that was run for its exit code.
public struct TailedResult: Sendable, Equatable {
    /// How it ended.
    public let ending: ProcessEnding
    /// The last bytes that it has written to its standard output and standard error.
    public let tail: [UInt8]

    /// A result from its parts.
    public init(ending: ProcessEnding, tail: [UInt8]) {
        self.ending = ending
        self.tail = tail
    }
}

/// A program that reads its input and may write as much as it likes: only the last bytes of it are kept. Its process
/// group ends with it.
public final class TailedRun {
    private let output: TailPipe
    private var process: ChildProcess?

    fileprivate init(_ output: TailPipe) { self.output = output }

    /// The process's number.
    public var identifier: Int32 { process?.identifier ?? 0 }
    /// When it was started, in the kernel's ticks since the machine's start.
    public var startedAt: UInt64 { process?.startedAt ?? 0 }

    /// Asks it to end.
    public func terminate() { process?.terminate() }

    /// Ends it, with its process group.
    public func kill() { process?.killGroup() }

    fileprivate func begin(_ process: ChildProcess) {
        self.process = process
        process.endsGroup = true
    }

    fileprivate func end(_ ending: ProcessEnding) -> TailedResult {
        output.finish()
        process = nil
        return TailedResult(ending: ending, tail: output.tail)
    }
}

/// The reading end of a pipe, of which the last bytes are kept.
private final class TailPipe: EventSource {
    private let descriptor: Descriptor
    private unowned let loop: EventLoop
    private let limit: Int
    private var isWatched = false
    private var bytes: [UInt8] = []
    private var buffer = [UInt8](repeating: 0, count: TailPipe.readBytes)

    /// Bytes of one read.
    private static let readBytes = 16_384
    /// Reads of one turn: a program that writes without end takes no more of the loop's time.
    private static let readsPerTurn = 4
    /// Reads after the program has ended: as much as a pipe holds at most for an unprivileged user
    /// (`/proc/sys/fs/pipe-max-size`, 1 MiB). A process that has left the group may go on writing.
    private static let readsAtEnd = 64

    init(_ descriptor: consuming Descriptor, limit: Int, on loop: EventLoop) throws(SystemError) {
        self.descriptor = descriptor
        self.limit = limit
        self.loop = loop
        _ = try loop.watch(self.descriptor.number, .readable, .source(self))
        isWatched = true
    }

    /// The last bytes that were written.
    var tail: [UInt8] { Array(bytes.suffix(limit)) }

    func ready(_ readiness: Readiness) { read(atMost: Self.readsPerTurn) }

    func loopStopped() {}

    /// Takes what is in the pipe, and reads no more.
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
            if bytes.count > limit + Self.readBytes { bytes.removeFirst(bytes.count - limit) }
        }
    }

    private func unwatch() {
        guard isWatched else { return }
        isWatched = false
        loop.unwatch(descriptor.number)
    }
}

extension EventLoop {
    /// Runs a program for its exit code, in a process group of its own that ends with it.
    ///
    /// - Parameters:
    ///   - input: what it reads as its standard input, to the end.
    ///   - tailBytes: how much is kept of the end of what it writes to its standard output and standard error.
    ///   - ended: called once, when it has ended; never before this returns.
    /// - Throws: `TransportError` if the program cannot be started.
    public func run(
        _ start: ProgramStart, input: [UInt8], keeping tailBytes: Int,
        ended: @escaping (TailedResult) -> Void
    ) throws(TransportError) -> TailedRun {
        let pipes: TailedPipes
        do throws(SystemError) {
            pipes = try TailedPipes.make(holding: input, keeping: tailBytes, on: self)
        } catch {
            throw TransportError("Cannot run \(start.path): \(error.text).")
        }
        let run = TailedRun(pipes.output)
        do throws(TransportError) {
            let writing = pipes.writing.number
            let standard = StandardDescriptors(
                input: pipes.file.number, output: writing, errors: writing)
            run.begin(try self.start(start, standard: standard) { ended(run.end($0)) })
            return run
        } catch {
            _ = run.end(.unknown)
            throw error
        }
    }
}

/// The standard input, output and errors of a program, and the end of the pipe at which its output is read.
private struct TailedPipes: ~Copyable {
    let file: Descriptor
    let writing: Descriptor
    let output: TailPipe

    static func make(
        holding input: [UInt8], keeping tailBytes: Int, on loop: EventLoop
    ) throws(SystemError) -> TailedPipes {
        var ends: [Int32] = [-1, -1]
        _ = try systemCall("pipe2") { unsafe Int(pipe2(&ends, O_CLOEXEC)) }.get()
        let reading = Descriptor(owning: ends[0])
        let writing = Descriptor(owning: ends[1])
        _ = try systemCall("fcntl") { Int(fcntl(ends[0], F_SETFL, O_NONBLOCK)) }.get()
        let file = try InputFile.make(holding: input)
        let output = try TailPipe(reading, limit: tailBytes, on: loop)
        return TailedPipes(file: file, writing: writing, output: output)
    }
}

/// A file without a name, as a program's standard input. A pipe would hold only as much as its reader and the user's
/// other pipes leave it.
enum InputFile {
    /// `MFD_CLOEXEC` (memfd_create(2)).
    private static let closeOnExec: UInt32 = 1

    /// The file, at whose beginning the reader begins.
    static func make(holding bytes: [UInt8]) throws(SystemError) -> Descriptor {
        let made = systemCall("memfd_create") {
            unsafe Int(memfd_create("input", Self.closeOnExec))
        }
        let file = Descriptor(owning: Int32(try made.get()))
        var written = 0
        while written < bytes.count {
            let rest = Array(bytes[written...])
            let count = try systemCall("write") { unsafe write(file.number, rest, rest.count) }.get()
            guard count > 0 else { throw SystemError(number: EIO) }
            written += count
        }
        _ = try systemCall("lseek") { lseek(file.number, 0, SEEK_SET) }.get()
        return file
    }
}

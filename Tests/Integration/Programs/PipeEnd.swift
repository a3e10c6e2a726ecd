import CPostriderSystem
import Foundation
import Synchronization

/// The test's end of a pipe to a program.
final class PipeEnd: Sendable {
    /// The descriptor; nil when it is closed.
    private let descriptor: Mutex<Int32?>

    init(_ descriptor: Int32) { self.descriptor = Mutex(descriptor) }

    deinit { close() }

    /// Waits for bytes, and returns them; empty at the end, which also closes this end. One thread reads.
    func read() -> [UInt8] {
        guard let number = descriptor.withLock({ $0 }) else { return [] }
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = unsafe Glibc.read(number, &buffer, buffer.count)
            if count > 0 { return Array(buffer[..<count]) }
            precondition(count == 0 || errno == EINTR, "read: error \(errno)")
            guard count < 0 else { break }
        }
        close()
        return []
    }

    /// Writes all of the bytes, unless the other end is closed.
    func write(_ bytes: [UInt8]) {
        guard let number = descriptor.withLock({ $0 }) else { return }
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { unsafe Glibc.write(number, $0.baseAddress, $0.count) }
            if count < 0, errno == EPIPE { return }
            precondition(count > 0 || errno == EINTR, "write: error \(errno)")
            rest = rest.dropFirst(max(count, 0))
        }
    }

    func close() {
        let number = descriptor.withLock { number in
            defer { number = nil }
            return number
        }
        if let number { Glibc.close(number) }
    }
}

/// The two ends of a program's standard stream.
struct StreamEnds {
    /// The descriptor that the program gets.
    let theirs: Int32
    /// The test's end, if the stream is a pipe.
    let ours: PipeEnd?
    /// Whether `theirs` is to be closed when the program has it.
    private let isPassedOn: Bool

    /// - Parameters:
    ///   - inherited: the number of the stream, which is 0 for the input.
    ///   - output: the program's standard output, for its standard error.
    init(_ stream: ChildProgram.Stream, inherited number: Int32, output: Int32? = nil) {
        switch stream {
        case .nothing:
            unsafe (theirs, ours, isPassedOn) = (open("/dev/null", O_RDWR | O_CLOEXEC), nil, true)
        case .inherited: (theirs, ours, isPassedOn) = (number, nil, false)
        case .descriptor(let descriptor): (theirs, ours, isPassedOn) = (descriptor, nil, false)
        case .output:
            guard let output else { preconditionFailure("only a standard error can be the standard output") }
            (theirs, ours, isPassedOn) = (output, nil, false)
        case .pipe:
            var ends: [Int32] = [-1, -1]
            let result = unsafe pipe2(&ends, O_CLOEXEC)
            precondition(result == 0, "pipe2: error \(errno)")
            let (reading, writing) = (ends[0], ends[1])
            theirs = number == 0 ? reading : writing
            ours = PipeEnd(number == 0 ? writing : reading)
            isPassedOn = true
        }
    }

    func closeTheirs() { if isPassedOn { close(theirs) } }
}

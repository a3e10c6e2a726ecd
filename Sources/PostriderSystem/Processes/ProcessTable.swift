internal import CPostriderSystem
internal import Glibc
public import PostriderTransport

/// The child processes that are started from one loop, and the orphans that this process adopts as the first process of
/// a container.
public final class ProcessTable {
    unowned let loop: EventLoop
    /// The process numbers of child processes that were started here and not waited for yet.
    private(set) var children: Set<Int32> = []
    /// Whether orphans are waited for, which are children of processes that have ended.
    var reapsOrphans = false

    /// A table without processes.
    public init(on loop: EventLoop) { self.loop = loop }

    /// Forgets a child process, which has ended and was waited for.
    func hasWaited(for identifier: Int32) {
        children.remove(identifier)
        // The kernel reports orphans only after this child has been waited for.
        if reapsOrphans { reap() }
    }

    /// Starts a program in a process group of its own. It inherits this process's standard output and standard error
    /// but no other descriptors, and no signal is blocked.
    ///
    /// - Parameter ended: called once, when the program has ended.
    public func start(
        _ start: ProgramStart, ended: @escaping (ProcessEnding) -> Void
    ) throws(TransportError) -> ChildProcess {
        try self.start(start, standard: nil, ended: ended)
    }

    /// - Parameter standard: its standard descriptors; nil for an empty input and this process's output.
    func start(
        _ start: ProgramStart, standard: StandardDescriptors?,
        ended: @escaping (ProcessEnding) -> Void
    ) throws(TransportError) -> ChildProcess {
        do throws(SystemError) {
            let identifier = try start.spawn(standard)
            children.insert(identifier)
            do throws(SystemError) {
                return try watch(identifier, ended)
            } catch {
                Self.withdraw(identifier)
                children.remove(identifier)
                throw error
            }
        } catch {
            throw TransportError("Cannot start \(start.path): \(error.text).")
        }
    }

    /// Reports the end of a process that an earlier run of this program started. Returns nil if it has ended, or if
    /// its start time is not known.
    public func adopt(
        _ identifier: Int32, startedAt: UInt64, ended: @escaping (ProcessEnding) -> Void
    ) -> ChildProcess? {
        guard let process = try? watch(identifier, ended) else { return nil }
        // The start time is read after the pidfd is open: from then on, a matching number is this very process.
        guard process.startedAt == startedAt, startedAt != Self.unknownStart else {
            loop.unwatch(process.number)
            return nil
        }
        return process
    }

    private func watch(
        _ identifier: Int32, _ ended: @escaping (ProcessEnding) -> Void
    ) throws(SystemError) -> ChildProcess {
        let opened = systemCall("pidfd_open") { Int(pidfd_open(identifier, 0)) }
        let descriptor = Descriptor(owning: Int32(try opened.get()))
        let number = descriptor.number
        let process = ChildProcess(
            identifier, startedAt: Self.startTime(of: identifier), descriptor, in: self, ended)
        try loop.watch(number, readableFor: process)
        return process
    }

    /// The value of a start time that cannot be read, because the process has ended or `/proc` hides it.
    private static let unknownStart: UInt64 = 0

    /// Reads field 22 of the process's `stat` (proc_pid_stat(5)). The second field may contain blanks and brackets.
    private static func startTime(of identifier: Int32) -> UInt64 {
        let result = systemCall("open") { unsafe Int(open("/proc/\(identifier)/stat", O_RDONLY | O_CLOEXEC)) }
        guard case .done(let number) = result else { return unknownStart }
        let descriptor = Descriptor(owning: Int32(number))
        var text = [UInt8](repeating: 0, count: 1024)
        let count = systemCall("read") { unsafe Glibc.read(descriptor.number, &text, text.count) }
        guard case .done(let length) = count,
            let bracket = text.prefix(length).lastIndex(of: UInt8(ascii: ")"))
        else { return unknownStart }
        let fields = text[(bracket + 1)..<length].split(separator: UInt8(ascii: " "))
        return fields.count > 19
            ? UInt64(String(decoding: fields[19], as: UTF8.self)) ?? unknownStart : unknownStart
    }

    /// Kills a program that was just started, with its process group, because its end could not be reported.
    private static func withdraw(_ identifier: Int32) {
        _ = systemCall("kill") { Int(Glibc.kill(-identifier, SIGKILL)) }
        _ = systemCall("waitpid") { Int(waitpid(identifier, nil, 0)) }
    }
}

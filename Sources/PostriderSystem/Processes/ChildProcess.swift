internal import CPostriderSystem
internal import Glibc
public import PostriderTransport

/// How a process ended.
public enum ProcessEnding: Sendable, Equatable, CustomStringConvertible {
    /// It exited with this code.
    case exited(Int32)
    /// A signal with this number ended it.
    case killed(Int32)
    /// Unknown: only the parent is told, and this process is not the parent.
    case unknown

    /// Reads the status that waitpid(2) returns.
    init(waitStatus status: Int32) {
        let signal = status & 0x7F
        self = signal == 0 ? .exited(status >> 8 & 0xFF) : .killed(signal)
    }

    /// One phrase that logs print.
    public var description: String {
        switch self {
        case .exited(let code): "ended with exit code \(code)"
        case .killed(let signal): "was ended by signal \(signal)"
        case .unknown: "ended"
        }
    }
}

/// A process whose end a loop reports (pidfd): this process's child, or one that an earlier run of this program
/// started. The number of a child cannot be reused until this object has waited for it. An adopted process is
/// identified by its number and its start time.
public final class ChildProcess: EventSource {
    /// The process number.
    public let identifier: Int32
    /// When the process was started, in kernel clock ticks since the machine started.
    public let startedAt: UInt64
    private let descriptor: Descriptor
    private let table: ProcessTable
    private let ended: (ProcessEnding) -> Void
    private var hasEnded = false
    /// Whether the process group, including everything the process started, is killed when the process ends.
    var endsGroup = false

    init(
        _ identifier: Int32, startedAt: UInt64, _ descriptor: consuming Descriptor, in table: ProcessTable,
        _ ended: @escaping (ProcessEnding) -> Void
    ) {
        self.identifier = identifier
        self.startedAt = startedAt
        self.descriptor = descriptor
        self.table = table
        self.ended = ended
    }

    /// Asks the process to end (SIGTERM).
    public func terminate() { send(SIGTERM) }

    /// Ends the process (SIGKILL).
    public func kill() { send(SIGKILL) }

    /// Kills the whole process group. The group's number cannot be reused until the process has been waited for.
    func killGroup() {
        guard !hasEnded else { return }
        _ = systemCall("kill") { Int(Glibc.kill(-identifier, SIGKILL)) }
    }

    private func send(_ signal: Int32) {
        guard !hasEnded else { return }
        _ = pidfd_send_signal(descriptor.number, signal, nil, 0)
    }

    var number: Int32 { descriptor.number }

    package func ready(_ readiness: Readiness) {
        guard !hasEnded else { return }
        if endsGroup { killGroup() }
        hasEnded = true
        table.loop.unwatch(descriptor.number)
        var status: Int32 = 0
        let result = systemCall("waitpid") { unsafe Int(waitpid(identifier, &status, WNOHANG)) }
        table.hasWaited(for: identifier)
        guard case .done(Int(identifier)) = result else { return ended(.unknown) }
        ended(ProcessEnding(waitStatus: status))
    }

    package func loopStopped() {}
}

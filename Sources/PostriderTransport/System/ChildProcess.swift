internal import CPostriderLinux
internal import Glibc

/// A program to start. It gets only what is stated here and nothing else of this process.
public struct ProgramStart: Sendable, Equatable {
    /// The path of the program's file.
    public var path: String
    /// The arguments after the program's name.
    public var arguments: [String]
    /// The whole environment of the program.
    public var environment: [String: String]
    /// The working directory of the program.
    public var directory = "/"

    /// Creates a start from its parts.
    public init(path: String, arguments: [String], environment: [String: String]) {
        self.path = path
        self.arguments = arguments
        self.environment = environment
    }
}

/// The descriptors that a program gets as its standard input and output.
struct StandardDescriptors {
    let input: Int32
    let output: Int32
    /// Its standard error; nil for this process's.
    var errors: Int32?
}

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
    private unowned let loop: EventLoop
    private let ended: (ProcessEnding) -> Void
    private var hasEnded = false
    /// Whether the process group, including everything the process started, is killed when the process ends.
    var endsGroup = false

    fileprivate init(
        _ identifier: Int32, startedAt: UInt64, _ descriptor: consuming Descriptor, on loop: EventLoop,
        _ ended: @escaping (ProcessEnding) -> Void
    ) {
        self.identifier = identifier
        self.startedAt = startedAt
        self.descriptor = descriptor
        self.loop = loop
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

    func ready(_ readiness: Readiness) {
        guard !hasEnded else { return }
        if endsGroup { killGroup() }
        hasEnded = true
        loop.unwatch(descriptor.number)
        var status: Int32 = 0
        let result = systemCall("waitpid") { unsafe Int(waitpid(identifier, &status, WNOHANG)) }
        loop.children.remove(identifier)
        // The kernel reports orphans only after this child has been waited for.
        loop.reaper?.reap()
        guard case .done(Int(identifier)) = result else { return ended(.unknown) }
        ended(ProcessEnding(waitStatus: status))
    }

    func loopStopped() {}
}

extension EventLoop {
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
            let identifier = try Self.spawn(start, standard)
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
            unwatch(process.number)
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
            identifier, startedAt: Self.startTime(of: identifier), descriptor, on: self, ended)
        _ = try watch(number, .readable, .source(process))
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

    static func spawn(
        _ start: ProgramStart, _ standard: StandardDescriptors?
    ) throws(SystemError) -> Int32 {
        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        let flags = POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF
        unsafe posix_spawnattr_setflags(&attributes, Int16(flags))
        unsafe posix_spawnattr_setpgroup(&attributes, 0)
        var (none, ignored) = (Signals.mask([]), Signals.mask([SIGPIPE, SIGINT, SIGTERM, SIGHUP]))
        unsafe posix_spawnattr_setsigmask(&attributes, &none)
        unsafe posix_spawnattr_setsigdefault(&attributes, &ignored)

        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        if let standard {
            unsafe posix_spawn_file_actions_adddup2(&actions, standard.input, 0)
            unsafe posix_spawn_file_actions_adddup2(&actions, standard.output, 1)
            if let errors = standard.errors {
                unsafe posix_spawn_file_actions_adddup2(&actions, errors, 2)
            }
        } else {
            unsafe posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        }
        unsafe posix_spawn_file_actions_addclosefrom_np(&actions, 3)
        unsafe posix_spawn_file_actions_addchdir_np(&actions, start.directory)

        let words = [start.path] + start.arguments
        let variables = start.environment.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
        var (arguments, environment) = unsafe (Self.strings(words), Self.strings(variables))
        defer { unsafe (arguments + environment).forEach { unsafe free($0) } }
        var identifier: pid_t = 0
        let result = unsafe posix_spawn(
            &identifier, start.path, &actions, &attributes, &arguments, &environment)
        guard result == 0 else { throw SystemError(number: result) }
        return identifier
    }

    private static func strings(_ texts: [String]) -> [UnsafeMutablePointer<CChar>?] {
        unsafe texts.map { unsafe strdup($0) } + [nil]
    }
}

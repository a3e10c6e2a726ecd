internal import CPostriderLinux
internal import Glibc

/// A program to be started: what it is told, and nothing else of this process.
public struct ProgramStart: Sendable, Equatable {
    /// The program's file.
    public var path: String
    /// What stands behind its name.
    public var arguments: [String]
    /// Its whole environment.
    public var environment: [String: String]
    /// Its working directory.
    public var directory = "/"

    /// A start from its parts.
    public init(path: String, arguments: [String], environment: [String: String]) {
        self.path = path
        self.arguments = arguments
        self.environment = environment
    }
}

/// What a program is given as its standard input and output.
struct StandardDescriptors {
    let input: Int32
    let output: Int32
    /// Its standard error; nil: this process's.
    var errors: Int32?
}

/// How a process ended.
public enum ProcessEnding: Sendable, Equatable, CustomStringConvertible {
    /// By itself, with this exit code.
    case exited(Int32)
    /// By a signal of this number.
    case killed(Int32)
    /// Nobody but its parent is told, and this process is not its parent.
    case unknown

    /// What waitpid(2) says.
    init(waitStatus status: Int32) {
        let signal = status & 0x7F
        self = signal == 0 ? .exited(status >> 8 & 0xFF) : .killed(signal)
    }

    /// One phrase for logs.
    public var description: String {
        switch self {
        case .exited(let code): "ended with exit code \(code)"
        case .killed(let signal): "was ended by signal \(signal)"
        case .unknown: "ended"
        }
    }
}

/// A process on a loop, which hears of its end (pidfd): one that this process has started, or that an earlier one has.
/// Its number cannot come to mean another process while this is there, for a child; and an adopted one is known by the
/// time of its start.
public final class ChildProcess: EventSource {
    /// Its number.
    public let identifier: Int32
    /// When it was started, in the kernel's ticks since the machine's start.
    public let startedAt: UInt64
    private let descriptor: Descriptor
    private unowned let loop: EventLoop
    private let ended: (ProcessEnding) -> Void
    private var hasEnded = false
    /// Whether whatever it has started ends with it.
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

    /// Asks it to end.
    public func terminate() { send(SIGTERM) }

    /// Ends it.
    public func kill() { send(SIGKILL) }

    /// Ends it with its whole process group. The group's number is its own until it has been waited for.
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
        // The kernel names orphans behind it only now.
        loop.reaper?.reap()
        guard case .done(Int(identifier)) = result else { return ended(.unknown) }
        ended(ProcessEnding(waitStatus: status))
    }

    func loopStopped() {}
}

extension EventLoop {
    /// Starts a program in a process group of its own, with no descriptors but those of its output, which are this
    /// process's, and no signals blocked.
    ///
    /// - Parameter ended: called once, when it has ended.
    public func start(
        _ start: ProgramStart, ended: @escaping (ProcessEnding) -> Void
    ) throws(TransportError) -> ChildProcess {
        try self.start(start, standard: nil, ended: ended)
    }

    /// - Parameter standard: its standard descriptors; nil: nothing to read, and this process's output.
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

    /// Hears of the end of a process that an earlier one has started; nil where it has ended meanwhile, or nobody knows
    /// when it was started.
    public func adopt(
        _ identifier: Int32, startedAt: UInt64, ended: @escaping (ProcessEnding) -> Void
    ) -> ChildProcess? {
        guard let process = try? watch(identifier, ended) else { return nil }
        // Looked at after the descriptor is there: from then on the number is this process's.
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

    /// What stands for the start of a process that cannot be looked at: it has ended, or nothing of it is shown here.
    private static let unknownStart: UInt64 = 0

    /// Field 22 of its `stat` (proc_pid_stat(5)); the second field may contain blanks and brackets.
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

    /// Ends a program that was started a moment ago, with all that it has started: nobody would hear of its end.
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

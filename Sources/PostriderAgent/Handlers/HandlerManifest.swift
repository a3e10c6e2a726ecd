public import PostriderNotifications

extension AppManifest {
    /// A program or unit that is started for each notification of a topic, instead of an app that attaches.
    /// ``AppManifest/program`` and ``AppManifest/arguments`` name the program.
    public struct Handler: Sendable, Equatable {
        /// The systemd unit that is started instead of a program: the name of a template, such as `reboot-once` for
        /// `reboot-once@.service`. Nil if a program is started.
        public var unit: String?
        /// The program's working directory.
        public var directory: String
        /// The most seconds that one run may take.
        public var seconds: Int
        /// How many runs there may be at once.
        public var parallelism: Int
        /// The environment in which the topic is registered.
        public var environment: Environment
        /// The bounds of the program.
        public var sandbox: Sandbox

        /// A handler from its parts.
        public init(
            unit: String? = nil, directory: String = "/", seconds: Int = Limits.handlerSeconds.usual,
            parallelism: Int = Limits.handlersAtOnce.usual, environment: Environment = .production,
            sandbox: Sandbox = Sandbox()
        ) {
            self.unit = unit
            self.directory = directory
            self.seconds = seconds
            self.parallelism = parallelism
            self.environment = environment
            self.sandbox = sandbox
        }
    }

    /// The kernel's bounds for a handler's program and all processes that it starts.
    public struct Sandbox: Sendable, Equatable {
        /// Whether neither it nor its children can gain privileges, for instance by set-user-ID files
        /// (`PR_SET_NO_NEW_PRIVS`).
        public var hasNoNewPrivileges = true
        /// Bytes of address space that each of its processes may use (`RLIMIT_AS`).
        public var memoryBytes: Int?
        /// Processes and threads that its user may have, including these (`RLIMIT_NPROC`); root has no such bound.
        public var processes: Int?
        /// Files that each of its processes may have open (`RLIMIT_NOFILE`).
        public var openFiles: Int?
        /// The largest file that it may write, in bytes (`RLIMIT_FSIZE`).
        public var fileBytes: Int?

        /// A sandbox with the default bounds.
        public init() {}

        /// The bounds as arguments of prlimit(1).
        var limits: [String] {
            [("as", memoryBytes), ("nproc", processes), ("nofile", openFiles), ("fsize", fileBytes)]
                .compactMap { name, value in value.map { "--\(name)=\($0)" } }
        }
    }
}

extension Limits {
    /// How many runs of one topic's handler there may be at once, and what can be set. The memory of the processes is
    /// not bounded by this.
    public static let handlersAtOnce = (least: 1, usual: 1, most: 32)
    /// What can be set for a sandbox: bytes of memory. With less, no program can be started.
    public static let sandboxMemoryBytes = 16 << 20...1 << 40
    /// What can be set for processes and threads.
    public static let sandboxProcesses = 1...1_000_000
    /// What can be set for open files.
    public static let sandboxFiles = 8...1_048_576
    /// What can be set for the bytes of a file.
    public static let sandboxFileBytes = 0...1 << 50
    /// Bytes that are kept of the end of a handler's output. While it runs, 16 KiB more: 20 KiB for each run.
    static let handlerTailBytes = 4096
    /// Lines of that output in the log, and bytes of them.
    static let handlerTailLines = (count: 10, bytes: 1000)
    /// Bytes of that output in a report, after how the handler ended.
    static let handlerReportBytes = 100
    /// How many failures and postponements of one notification are reported. After that, only its end is.
    static let reportedAttempts = 3
    /// Milliseconds until the agent asks again for a registration that was refused to a handler's topic.
    static let handlerRegistrationMilliseconds = 60_000
    /// Bytes of a value in a handler's environment that comes from a payload.
    static let handlerVariableBytes = 4096
    /// Notifications of one topic whose postponements are counted. At 40 bytes each: 40 KiB.
    static let postponedPerTopic = inboxPerTopic
}

public import PostriderNotifications

extension AppManifest {
    /// A program or unit that is started for each notification of a topic, in place of an app that attaches. The
    /// program stands in ``AppManifest/program`` and ``AppManifest/arguments``.
    public struct Handler: Sendable, Equatable {
        /// The systemd unit that is started instead of a program: a template without its instance, such as
        /// `reboot-once` for `reboot-once@.service`. Nil: a program is started.
        public var unit: String?
        /// The program's working directory.
        public var directory: String
        /// Seconds that one run may take.
        public var seconds: Int
        /// Runs at the same time.
        public var parallelism: Int
        /// The environment in which the topic is registered.
        public var environment: Environment
        /// What the program may not do.
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

    /// Bounds of the kernel for a handler's program and all that it starts.
    public struct Sandbox: Sendable, Equatable {
        /// Whether programs that it starts get no privileges that it does not have, as by set-user-ID
        /// (`PR_SET_NO_NEW_PRIVS`).
        public var hasNoNewPrivileges = true
        /// Bytes of memory that each of its processes may ask for (`RLIMIT_AS`).
        public var memoryBytes: Int?
        /// Processes and threads that its user may have, these included (`RLIMIT_NPROC`); root has no such bound.
        public var processes: Int?
        /// Files that each of its processes may have open (`RLIMIT_NOFILE`).
        public var openFiles: Int?
        /// Bytes that a file may have that it writes (`RLIMIT_FSIZE`).
        public var fileBytes: Int?

        /// A sandbox with the usual bounds.
        public init() {}

        /// The bounds as arguments of prlimit(1).
        var limits: [String] {
            [("as", memoryBytes), ("nproc", processes), ("nofile", openFiles), ("fsize", fileBytes)]
                .compactMap { name, value in value.map { "--\(name)=\($0)" } }
        }
    }
}

extension Limits {
    /// Runs of one topic's handler at the same time, and what can be set. What a process takes is its own.
    public static let handlersAtOnce = (least: 1, usual: 1, most: 32)
    /// Bounds of a handler's sandbox that can be set: bytes of memory. With less, no program can be started.
    public static let sandboxMemoryBytes = 16 << 20...1 << 40
    /// Processes and threads.
    public static let sandboxProcesses = 1...1_000_000
    /// Open files.
    public static let sandboxFiles = 8...1_048_576
    /// Bytes of a file.
    public static let sandboxFileBytes = 0...1 << 50
    /// Bytes that are kept of the end of what a handler writes. While it runs, 16 KiB more: 20 KiB for each run.
    static let handlerTailBytes = 4096
    /// Lines of that in the log, and bytes of them.
    static let handlerTailLines = (count: 10, bytes: 1000)
    /// Bytes of that in a report, beside how the handler ended.
    static let handlerReportBytes = 100
    /// Failures and postponements of one notification that are reported one by one: then only the last word is.
    static let reportedAttempts = 3
    /// Milliseconds until the agent asks again to register a handler's topic that was refused.
    static let handlerRegistrationMilliseconds = 60_000
    /// Bytes of a value in a handler's environment that comes from a payload.
    static let handlerVariableBytes = 4096
    /// Notifications of one topic whose postponements are counted, at 40 bytes each: 40 KiB.
    static let postponedPerTopic = inboxPerTopic
}

internal import CPostriderSystem
internal import Glibc
package import PostriderTransport

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
package struct StandardDescriptors {
    let input: Int32
    let output: Int32
    /// Its standard error; nil for this process's.
    let errors: Int32?

    package init(input: Int32, output: Int32, errors: Int32? = nil) {
        (self.input, self.output, self.errors) = (input, output, errors)
    }
}

extension ProgramStart {
    /// Starts the program in a process group of its own, without blocked signals, and returns the process number.
    ///
    /// - Parameter standard: its standard descriptors; nil for no input, and the output of this process.
    package func spawn(_ standard: StandardDescriptors?) throws(SystemError) -> Int32 {
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
        unsafe posix_spawn_file_actions_addchdir_np(&actions, directory)

        let words = [path] + arguments
        let variables = environment.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
        var (wordPointers, variablePointers) = unsafe (Self.strings(words), Self.strings(variables))
        defer { unsafe (wordPointers + variablePointers).forEach { unsafe free($0) } }
        var identifier: pid_t = 0
        let result = unsafe posix_spawn(
            &identifier, path, &actions, &attributes, &wordPointers, &variablePointers)
        guard result == 0 else { throw SystemError(number: result) }
        return identifier
    }

    /// The strings for posix_spawn or execv, which the caller frees, with the null pointer that ends them.
    static func strings(_ texts: [String]) -> [UnsafeMutablePointer<CChar>?] {
        unsafe texts.map { unsafe strdup($0) } + [nil]
    }
}

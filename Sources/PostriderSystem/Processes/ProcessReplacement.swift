internal import CPostriderSystem
internal import Glibc
package import PostriderTransport

/// Goes on as another program in the same process (execve(2)).
package enum ProcessReplacement {
    /// Begins the other program. The process keeps its number, its environment, its directory and the descriptors that
    /// are not closed then; no signal is blocked.
    ///
    /// - Parameters:
    ///   - path: the file of the program, whose first argument is this path.
    ///   - arguments: its further arguments.
    /// - Throws: if this process stays what it is.
    package static func begin(_ path: String, _ arguments: [String]) throws(SystemError) -> Never {
        // Threads of Swift's concurrency block signals, and the program inherits what the calling thread blocks.
        var nothing = Signals.mask([])
        var before = sigset_t()
        _ = unsafe pthread_sigmask(SIG_SETMASK, &nothing, &before)
        var words = unsafe ProgramStart.strings([path] + arguments)
        unsafe execv(path, &words)
        let error = SystemError(number: errno)
        unsafe words.forEach { unsafe free($0) }
        _ = unsafe pthread_sigmask(SIG_SETMASK, &before, nil)
        throw error
    }
}

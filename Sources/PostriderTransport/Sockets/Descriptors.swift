internal import CPostriderLinux
internal import Glibc

/// The file descriptors of this process. They are its scarcest resource, because each connection needs one.
public enum Descriptors {
    /// Raises the soft limit to the hard limit and returns it. Call it once, at start.
    @discardableResult
    public static func raiseLimit() -> Int {
        var limit = rlimit()
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        guard unsafe getrlimit(resource, &limit) == 0 else { return 1024 }
        let before = limit.rlim_cur
        limit.rlim_cur = limit.rlim_max
        guard unsafe setrlimit(resource, &limit) == 0 else { return Int(clamping: before) }
        return Int(clamping: limit.rlim_max)
    }

    /// Opens `/dev/null` for each of standard input, output and error that the process was started without. Otherwise
    /// the next socket or file would get that number, and the process would print into it. Call this before anything
    /// else.
    public static func occupyStandard() {
        // open(2) returns the lowest free number.
        for number in STDIN_FILENO...STDERR_FILENO where fcntl(number, F_GETFD) < 0 {
            _ = unsafe open("/dev/null", O_RDWR)
        }
    }

    /// The number of connections that can still be accepted if `reserve` descriptors are left to other uses.
    public static func room(besides reserve: Int) -> Int { max(0, limit - reserve - openCount) }

    /// The number of descriptors that this process has open.
    static var openCount: Int {
        guard let directory = unsafe opendir("/proc/self/fd") else { return 0 }
        defer { unsafe closedir(directory) }
        var count = 0
        while let entry = unsafe readdir(directory) {
            // Names that begin with a dot are the directory itself and its parent.
            if unsafe entry.pointee.d_name.0 != CChar(UInt8(ascii: ".")) { count += 1 }
        }
        // The descriptor that reads the directory is not counted.
        return count - 1
    }

    /// The number of descriptors that this process may have open: the soft limit.
    public static var limit: Int {
        var limit = rlimit()
        guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 1024 }
        return Int(clamping: limit.rlim_cur)
    }
}

internal import CPostriderLinux
internal import Glibc

/// The descriptors of this process, its scarcest resource: one for each connection.
public enum Descriptors {
    /// Raises the soft limit to the hard one and returns it. To be called once, at start.
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

    /// Sees to it that the numbers of standard input and output are these: whoever was started with one of them closed
    /// has `/dev/null` there, and not the next socket or file, into which it would then print. To be called first of
    /// all.
    public static func occupyStandard() {
        // The lowest free number is what is opened next.
        for number in STDIN_FILENO...STDERR_FILENO where fcntl(number, F_GETFD) < 0 {
            _ = unsafe open("/dev/null", O_RDWR)
        }
    }

    /// Connections that can still be accepted by listeners that leave `reserve` descriptors to other uses: a new
    /// descriptor gets the lowest free number.
    public static func room(besides reserve: Int) -> Int { max(0, limit - reserve - openCount) }

    /// How many descriptors this process has open.
    static var openCount: Int {
        guard let directory = unsafe opendir("/proc/self/fd") else { return 0 }
        defer { unsafe closedir(directory) }
        var count = 0
        while let entry = unsafe readdir(directory) {
            // Dots are the directory and the one above it.
            if unsafe entry.pointee.d_name.0 != CChar(UInt8(ascii: ".")) { count += 1 }
        }
        // Without the one for looking.
        return count - 1
    }

    /// How many descriptors this process may have open: the soft limit.
    public static var limit: Int {
        var limit = rlimit()
        guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 1024 }
        return Int(clamping: limit.rlim_cur)
    }
}

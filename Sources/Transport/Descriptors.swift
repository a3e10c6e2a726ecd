internal import CLinux
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

    /// How many descriptors this process may have open: the soft limit.
    public static var limit: Int {
        var limit = rlimit()
        guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 1024 }
        return Int(clamping: limit.rlim_cur)
    }
}

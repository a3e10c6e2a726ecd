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

    /// How many descriptors this process may have open: the soft limit.
    public static var limit: Int {
        var limit = rlimit()
        guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 1024 }
        return Int(clamping: limit.rlim_cur)
    }
}

internal import CPostriderSystem
internal import Glibc
internal import PostriderTransport

/// The service manager that started this process and wants to know when it is ready: sd_notify(3), a datagram to a
/// Unix socket.
public enum Supervisor {
    /// The state that a program sends when it begins to reload; `READY=1` ends the reload.
    public static var reloadingState: String {
        "RELOADING=1\nMONOTONIC_USEC=\(EventLoop.read(CLOCK_MONOTONIC) / 1000)"
    }

    /// The names of the sockets that the service manager has passed to this process as descriptors 3, 4, …
    /// (sd_listen_fds_with_names(3)); empty if it has passed none. A socket without a name is called `unknown`.
    public static func socketNames(in environment: [String: String]) -> [String] {
        guard environment["LISTEN_PID"].flatMap({ Int32($0) }) == getpid(),
            let count = environment["LISTEN_FDS"].flatMap({ Int($0) }), (1...mostSockets).contains(count)
        else { return [] }
        let names =
            environment["LISTEN_FDNAMES"]?.split(separator: ":", omittingEmptySubsequences: false) ?? []
        guard names.count == count else { return Array(repeating: "unknown", count: count) }
        return names.map(String.init)
    }

    /// The most sockets that are passed.
    private static let mostSockets = 1024
    /// The most seconds that a state waits for room in the service manager's socket.
    private static let sendSeconds = 1

    /// Sends one state, such as `READY=1`, to the socket that `NOTIFY_SOCKET` names; a leading `@` means an abstract
    /// socket. Returns false if nobody listens on the socket or takes the state within a second; the program goes on
    /// in that case.
    ///
    /// - Parameter waits: whether to wait up to a second for room in the socket.
    @discardableResult
    public static func notify(_ state: String, socket name: String, waits: Bool = true) -> Bool {
        var address = sockaddr_un()
        let capacity = MemoryLayout.size(ofValue: address.sun_path)
        guard (2..<capacity).contains(name.utf8.count), let first = name.utf8.first,
            [UInt8(ascii: "/"), UInt8(ascii: "@")].contains(first)
        else { return false }
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { path in
            for (index, byte) in name.utf8.enumerated() { unsafe path[index] = byte }
            if first == UInt8(ascii: "@") { unsafe path[0] = 0 }
        }
        let type = Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue)
        guard case .done(let number) = systemCall("socket", { Int(socket(AF_UNIX, type, 0)) }) else {
            return false
        }
        let descriptor = Descriptor(owning: Int32(number))
        // The socket of a reader that has stopped fills up.
        var flags = Int32(MSG_NOSIGNAL)
        if waits {
            var patience = timeval(tv_sec: sendSeconds, tv_usec: 0)
            let size = socklen_t(MemoryLayout<timeval>.size)
            _ = systemCall("setsockopt") {
                unsafe Int(setsockopt(descriptor.number, SOL_SOCKET, SO_SNDTIMEO, &patience, size))
            }
        } else {
            flags |= Int32(MSG_DONTWAIT)
        }
        let length = socklen_t(MemoryLayout<sa_family_t>.size + name.utf8.count)
        let result = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                systemCall("sendto") {
                    unsafe sendto(descriptor.number, state, state.utf8.count, flags, pointer, length)
                }
            }
        }
        if case .done = result { return true } else { return false }
    }
}

import Glibc
import PostriderDBus

extension BusConnection {
    /// Waits as long as the connection wants to wait, then lets it work.
    func step() throws(BusError) {
        var wait: Int32 = -1
        if let deadline {
            var time = timespec()
            unsafe clock_gettime(CLOCK_MONOTONIC, &time)
            let now = UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
            wait = deadline > now ? Int32(clamping: (deadline - now) / 1_000_000 + 1) : 0
        }
        let readable = interest.contains(.readable) ? Int16(POLLIN) : 0
        let writable = interest.contains(.writable) ? Int16(POLLOUT) : 0
        var entry = pollfd(fd: descriptor, events: readable | writable, revents: 0)
        unsafe poll(&entry, 1, wait)
        try process()
    }

    /// Runs steps until a condition holds.
    func run(until isSo: () -> Bool) throws(BusError) {
        while !isSo() { try step() }
    }

    /// Calls, and waits for the answer.
    func answer(to call: BusCall, timeoutMilliseconds: Int = 25_000) -> Result<BusReply, BusError> {
        var answer: Result<BusReply, BusError>?
        do throws(BusError) {
            try self.call(call, timeoutMilliseconds: timeoutMilliseconds) { answer = $0 }
            while true {
                if let answer { return answer }
                try step()
            }
        } catch {
            return answer ?? .failure(error)
        }
    }
}

/// A listener on a Unix socket that is no bus.
struct RudeListener {
    private let number: Int32

    init(path: String) throws {
        number = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { bytes in
            for (index, byte) in path.utf8.enumerated() { unsafe bytes[index] = byte }
        }
        let size = socklen_t(MemoryLayout<sockaddr_un>.size)
        let result = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                unsafe bind(number, pointer, size)
            }
        }
        precondition(result == 0 && listen(number, 4) == 0)
    }

    /// Accepts all waiting connections and closes them.
    func hangUp() {
        let accepted = accept(number, nil, nil)
        close(accepted)
        close(number)
    }
}

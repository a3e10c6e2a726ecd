internal import CPostriderSystem
internal import Glibc
public import PostriderTransport

/// Standard output and standard error. Other processes may share the open file (a terminal, the parent process), so
/// this process does not make it non-blocking: a write blocks until the reader takes the bytes.
public enum StandardStream: Int32, Sendable {
    /// Standard output.
    case output = 1
    /// Standard error.
    case errors = 2

    /// Why a write was incomplete.
    public enum Failure: Error {
        /// The other end of the pipe is closed.
        case readerGone
        /// The file did not take the bytes, for example because the disk is full.
        case notTaken
    }

    /// Writes all bytes of a text. It blocks until they are taken.
    public func write(_ text: String) throws(Failure) { try write(Array(text.utf8)) }

    /// Writes all bytes. It blocks until they are taken.
    public func write(_ bytes: [UInt8]) throws(Failure) {
        var start = 0
        while start < bytes.count {
            let result = unsafe bytes.withUnsafeBytes { all in
                let rest = unsafe UnsafeRawBufferPointer(rebasing: all[start...])
                return systemCall("write") { unsafe Glibc.write(rawValue, rest.baseAddress, rest.count) }
            }
            switch result {
            case .done(let count): start += count
            case .wouldBlock:
                // Another process has made the shared file non-blocking.
                var room = pollfd(fd: rawValue, events: Int16(POLLOUT), revents: 0)
                _ = unsafe poll(&room, 1, -1)
            case .failed(let error): throw error.number == EPIPE ? .readerGone : .notTaken
            }
        }
    }

    /// Reads standard input to its end. It blocks until then.
    public static func readInput() throws(TransportError) -> [UInt8] {
        var all: [UInt8] = []
        var some = [UInt8](repeating: 0, count: 65_536)
        do throws(SystemError) {
            while true {
                let count = try systemCall("read") { unsafe read(STDIN_FILENO, &some, some.count) }.get()
                guard count > 0 else { return all }
                all += some.prefix(count)
            }
        } catch {
            throw TransportError("Cannot read standard input: \(error.text).")
        }
    }
}

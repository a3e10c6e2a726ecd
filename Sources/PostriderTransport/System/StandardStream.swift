internal import CPostriderLinux
internal import Glibc

/// Standard output and standard error. Others may have the same open file (a terminal, the process that started this
/// one), so they stay as they are: a write to them may block for as long as nobody reads.
public enum StandardStream: Int32, Sendable {
    /// Standard output.
    case output = 1
    /// Standard error.
    case errors = 2

    /// Why not all was written.
    public enum Failure: Error {
        /// Nobody will read it: the other end of the pipe is closed.
        case readerGone
        /// For example, the disk is full.
        case notTaken
    }

    /// Writes all bytes of a text. Blocks until they are taken.
    public func write(_ text: String) throws(Failure) { try write(Array(text.utf8)) }

    /// Writes all bytes. Blocks until they are taken.
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
                // Somebody else has made the file non-blocking.
                var room = pollfd(fd: rawValue, events: Int16(POLLOUT), revents: 0)
                _ = unsafe poll(&room, 1, -1)
            case .failed(let error): throw error.number == EPIPE ? .readerGone : .notTaken
            }
        }
    }

    /// All bytes of standard input up to its end. Blocks until they are there.
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

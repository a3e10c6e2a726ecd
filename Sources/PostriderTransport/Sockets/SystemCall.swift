internal import CPostriderLinux
internal import Glibc

/// Why the kernel refused a call, in its own words. It never leaves this module: a `TransportError` or a
/// `CloseReason` does.
struct SystemError: Error, Equatable {
    let number: Int32

    /// strerror_r into a buffer of ours: strerror's own buffer is shared between threads.
    var text: String {
        var buffer = [UInt8](repeating: 0, count: 128)
        unsafe buffer.withUnsafeMutableBytes { bytes in
            guard let start = bytes.baseAddress else { return }
            _ = unsafe strerror_r(number, start.assumingMemoryBound(to: CChar.self), bytes.count)
        }
        return String(decoding: buffer.prefix { $0 != 0 }, as: UTF8.self)
    }
}

/// What a system call on a non-blocking descriptor can answer.
enum SystemResult {
    case done(Int)
    /// Not now: EAGAIN, or EINPROGRESS of a connect.
    case wouldBlock
    case failed(SystemError)
}

/// The funnel through which every system call goes: interrupted calls are repeated, "not now" becomes a
/// value, and errors that can only mean a bug of ours (a closed descriptor, a bad pointer) stop the
/// process.
@inline(__always)
func systemCall(_ name: StaticString, _ body: () -> Int) -> SystemResult {
    while true {
        let result = body()
        guard result < 0 else { return .done(result) }
        let number = errno
        switch number {
        case EINTR: continue
        case EAGAIN, EINPROGRESS: return .wouldBlock
        default:
            precondition(
                number != EBADF && number != EFAULT && number != ENOTSOCK, "bug: \(name), errno \(number)")
            return .failed(SystemError(number: number))
        }
    }
}

extension SystemResult {
    /// The value of a call that does not block; "not now" counts as a failure.
    func get() throws(SystemError) -> Int {
        switch self {
        case .done(let value): return value
        case .wouldBlock: throw SystemError(number: EAGAIN)
        case .failed(let error): throw error
        }
    }
}

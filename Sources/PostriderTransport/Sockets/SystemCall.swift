internal import CPostriderLinux
internal import Glibc

/// The errno of a failed system call. It does not leave Transport and System: their callers get a `TransportError` or
/// a `CloseReason`.
package struct SystemError: Error, Equatable {
    package let number: Int32

    /// The error of this errno.
    package init(number: Int32) { self.number = number }

    /// The kernel's words for the error. strerror_r(3) writes into our own buffer, because strerror(3)'s is shared
    /// between threads.
    package var text: String {
        var buffer = [UInt8](repeating: 0, count: 128)
        unsafe buffer.withUnsafeMutableBytes { bytes in
            guard let start = bytes.baseAddress else { return }
            _ = unsafe strerror_r(number, start.assumingMemoryBound(to: CChar.self), bytes.count)
        }
        return String(decoding: buffer.prefix { $0 != 0 }, as: UTF8.self)
    }
}

/// The result of a system call on a non-blocking descriptor.
package enum SystemResult {
    case done(Int)
    /// The call would block: EAGAIN, or EINPROGRESS of a connect.
    case wouldBlock
    case failed(SystemError)
}

/// Makes a system call; all calls of this module come through here. A call that was interrupted is repeated, EAGAIN
/// becomes a value, and errors that only a bug of ours can cause (a closed descriptor, a bad pointer) end the
/// process.
@inline(__always)
package func systemCall(_ name: StaticString, _ body: () -> Int) -> SystemResult {
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
    /// The value of a call that cannot block; `wouldBlock` is thrown as an error.
    package func get() throws(SystemError) -> Int {
        switch self {
        case .done(let value): return value
        case .wouldBlock: throw SystemError(number: EAGAIN)
        case .failed(let error): throw error
        }
    }
}

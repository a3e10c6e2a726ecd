internal import CPostriderCrypto
internal import Glibc

/// Why a cryptographic operation failed: one sentence that says what failed, where (the file, if there is one) and
/// why, with OpenSSL's reason if it has one. It never contains key material or an error code.
public struct CryptoError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The side that caused an error.
    public enum Origin: Sendable {
        /// This side: a file or an argument is unusable.
        case local
        /// The peer: it sent something that TLS or our policy forbids, or rejected what we sent.
        case peer
        /// The connection: it was reset, or it ended in the middle of a handshake.
        case connection
    }

    /// The side that caused the error.
    public let origin: Origin
    /// The sentence for logs.
    public let description: String
    /// The standard name of the alert if there was one (``TLSAlert``), otherwise OpenSSL's reason; nil outside of
    /// TLS.
    public let name: String?
    /// Whether the peer's first bytes were not a TLS record.
    public let isNotTLS: Bool

    /// Creates an error from its parts.
    package init(_ origin: Origin, _ description: String, name: String? = nil, isNotTLS: Bool = false) {
        self.origin = origin
        self.description = description
        self.name = name
        self.isNotTLS = isNotTLS
    }

    /// The error for a failed call of OpenSSL. OpenSSL's reason ends the sentence, and this thread's error queue is
    /// emptied.
    package static func local(_ what: String) -> CryptoError {
        CryptoError(.local, "\(what): \(ErrorQueue.takeReason())")
    }

    /// The error for a failed system call that left `code` in errno. `remedy` says what to do, if anything helps.
    package static func system(
        _ origin: Origin, _ what: String, _ code: CInt, remedy: String? = nil
    ) -> CryptoError {
        let reason = unsafe String(cString: strerror(code))
        return CryptoError(origin, "\(what): \(reason)\(remedy.map { "; \($0)" } ?? "")")
    }
}

/// OpenSSL's error queue of this thread. It is emptied before a call whose failure will be explained, and drained by
/// the code that explains it, so that a reason is never attributed to the wrong call.
package enum ErrorQueue {
    /// Empties the queue. ERR_clear_error visits every entry, so it is called only if the queue is not empty.
    package static func clear() { if ERR_peek_error() != 0 { ERR_clear_error() } }

    /// Returns the oldest reason of the queue, which is the root cause, and empties the queue.
    package static func takeReason() -> String {
        let code = ERR_get_error()
        defer { ERR_clear_error() }
        if let text = unsafe ERR_reason_error_string(code) { return unsafe String(cString: text) }
        return code == 0 ? "no reason given" : "error \(String(code, radix: 16))"
    }
}

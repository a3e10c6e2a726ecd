internal import CPostriderCrypto
internal import Glibc

/// Why something cryptographic could not be done: one sentence that says what, where (the file, if there is
/// one) and why, in OpenSSL's own words where it has some. It never carries key material or an error code.
public struct CryptoError: Error, Equatable, Sendable, CustomStringConvertible {
    /// Whose fault it is.
    public enum Origin: Sendable {
        /// A file or an argument given to this side cannot be used.
        case local
        /// The peer sent something that TLS or our policy forbids, or refused what we sent.
        case peer
        /// The connection underneath broke: reset, or ended in the middle of a handshake.
        case connection
    }

    /// Whose fault it is.
    public let origin: Origin
    /// The sentence.
    public let description: String
    /// The alert's name if there was one (``TLSAlert``), otherwise OpenSSL's reason; nil outside of TLS.
    public let name: String?
    /// Whether the peer's first bytes were no record of TLS.
    public let isNotTLS: Bool

    /// An error from its parts.
    package init(_ origin: Origin, _ description: String, name: String? = nil, isNotTLS: Bool = false) {
        self.origin = origin
        self.description = description
        self.name = name
        self.isNotTLS = isNotTLS
    }

    /// `what` failed in OpenSSL: its reason ends the sentence, and this thread's error queue is empty
    /// afterwards.
    package static func local(_ what: String) -> CryptoError {
        CryptoError(.local, "\(what): \(ErrorQueue.takeReason())")
    }

    /// `what` failed in a system call that left `code` in errno; `remedy` says what to do, where somebody can.
    package static func system(
        _ origin: Origin, _ what: String, _ code: CInt, remedy: String? = nil
    ) -> CryptoError {
        let reason = unsafe String(cString: strerror(code))
        return CryptoError(origin, "\(what): \(reason)\(remedy.map { "; \($0)" } ?? "")")
    }
}

/// OpenSSL's queue of errors, one per thread. It is emptied before a call whose failure will be explained,
/// and drained by whoever explains it, so that no reason is ever told of the wrong call.
package enum ErrorQueue {
    /// Clearing goes over every place of the queue; whether it is empty is told at once.
    package static func clear() { if ERR_peek_error() != 0 { ERR_clear_error() } }

    /// The oldest reason in the queue, which is the root cause; the queue is empty afterwards.
    package static func takeReason() -> String {
        let code = ERR_get_error()
        defer { ERR_clear_error() }
        if let text = unsafe ERR_reason_error_string(code) { return unsafe String(cString: text) }
        return code == 0 ? "no reason given" : "error \(String(code, radix: 16))"
    }
}

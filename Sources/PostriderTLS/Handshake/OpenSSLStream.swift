internal import CPostriderSSL
internal import Glibc
import PostriderCrypto
import PostriderTransport

/// An `SSL` of OpenSSL on one socket: it performs the handshake, and reads and writes the records of streams that stay
/// with OpenSSL. OpenSSL calls back to it, so it does not move in memory.
@safe final class OpenSSLStream {
    /// Keeps OpenSSL's context for as long as the `SSL`.
    private let context: TLSContext
    /// OpenSSL's `SSL`.
    let pointer: OpaquePointer
    /// The secrets that OpenSSL reports during a server's handshake, until the handshake is left; nil if they are not
    /// needed.
    private var secrets: TrafficSecrets?
    /// Whether the connection is broken, so that OpenSSL must not be called for it any more.
    private var isBroken = false
    /// The last alert that OpenSSL has sent or received.
    private var lastAlert: (name: String, isSent: Bool)?
    /// The number of handshake steps since the peer last sent content; nil before the first handshake is complete.
    private var idleSteps: Int?
    /// The most handshake steps without content; a KeyUpdate takes up to three. Honest peers update their key once in
    /// millions of records. A peer that floods us with KeyUpdates would keep this thread inside of one read for as
    /// long as it sends.
    private static let mostIdleSteps = 100

    /// Makes a server's stream, or a client's if there is the name of a server.
    init(_ descriptor: Int32, context: TLSContext, serverName: String? = nil) throws(CryptoError) {
        ErrorQueue.clear()
        guard let pointer = unsafe SSL_new(context.pointer) else {
            throw .local("A TLS connection cannot be made")
        }
        unsafe self.pointer = pointer
        self.context = context
        // The reference is unretained, because OpenSSL calls back only during calls from here.
        guard unsafe SSL_set_ex_data(pointer, 0, Unmanaged.passUnretained(self).toOpaque()) == 1,
            unsafe SSL_set_fd(pointer, descriptor) == 1
        else {
            throw .local("A TLS connection cannot be made")
        }
        if let serverName {
            unsafe SSL_set_connect_state(pointer)
            try expect(serverName)
        } else {
            if context.records == .own { secrets = TrafficSecrets() }
            unsafe SSL_set_accept_state(pointer)
        }
    }

    deinit { unsafe SSL_free(pointer) }

    /// The stream of an `SSL` that OpenSSL passes to a callback.
    static func behind(_ ssl: OpaquePointer?) -> OpenSSLStream? {
        guard let stream = unsafe SSL_get_ex_data(ssl, 0) else { return nil }
        return unsafe Unmanaged<OpenSSLStream>.fromOpaque(stream).takeUnretainedValue()
    }

    /// Sets the name for which the server's certificate must be valid.
    private func expect(_ serverName: String) throws(CryptoError) {
        guard !serverName.isEmpty, !serverName.utf8.contains(0) else {
            throw CryptoError(.local, "A TLS client needs the name of its server")
        }
        if unsafe X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(pointer), serverName) == 1 { return }
        ErrorQueue.clear()
        unsafe SSL_set_hostflags(pointer, UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS))
        guard unsafe SSL_set1_host(pointer, serverName) == 1,
            unsafe CSSL_set_tlsext_host_name(pointer, serverName) == 1
        else { throw .local("The server name \(serverName) cannot be used") }
    }

    // MARK: The handshake

    /// Continues the handshake as far as possible without blocking.
    func handshake() throws(CryptoError) -> TLSStep {
        precondition(!isBroken, "a handshake that failed is not repeated")
        ErrorQueue.clear()
        let status = unsafe SSL_do_handshake(pointer)
        if status == 1 {
            idleSteps = 0
            return .complete
        }
        switch try interruption(status, errno, "The TLS handshake failed") {
        case .wantsRead: return .wantsRead
        case .wantsWrite: return .wantsWrite
        case .endOfStream:
            isBroken = true
            throw CryptoError(.connection, "The peer closed the connection during the TLS handshake")
        }
    }

    /// Ends the handshake, and makes the record layer for the time after it. It returns nil if the stream has to stay
    /// with OpenSSL: it is a client's or uses TLS 1.2, or OpenSSL has read bytes after the handshake, or has not
    /// reported the secrets.
    func leaveHandshake(_ ciphers: AEADContexts) -> RecordLayer? {
        defer { secrets = nil }
        if !isBroken, let layer = makeRecords(ciphers) { return layer }
        // From now on each read takes as much as the socket has.
        unsafe CSSL_set_read_ahead(pointer, 1)
        return nil
    }

    private func makeRecords(_ ciphers: AEADContexts) -> RecordLayer? {
        guard let secrets, unsafe SSL_is_init_finished(pointer) == 1,
            unsafe SSL_version(pointer) == TLS1_3_VERSION, unsafe SSL_has_pending(pointer) == 0,
            let suite = unsafe RecordSuite(
                identifier: SSL_CIPHER_get_protocol_id(SSL_get_current_cipher(pointer)))
        else { return nil }
        return secrets.records(suite, contentLimit: contentLimit, ciphers.derivation)
    }

    /// The most content of a record in bytes. A client may have negotiated less than TLS allows (max_fragment_length,
    /// RFC 6066, section 4), which OpenSSL grants. OpenSSL grants no other extension that affects records.
    private var contentLimit: Int {
        let code = unsafe SSL_SESSION_get_max_fragment_length(SSL_get_session(pointer))
        return 1...4 ~= code ? 256 << Int(code) : RecordLayer.mostContent
    }

    // MARK: What OpenSSL reports

    /// Takes a secret that OpenSSL reports: a line of the key log without its line break
    /// (SSL_CTX_set_keylog_callback(3)).
    func take(keyLogLine line: UnsafePointer<CChar>) {
        guard let secrets else { return }
        unsafe withUnsafeTemporaryAllocation(of: UInt8.self, capacity: TrafficSecrets.randomBytes) { random in
            let count = unsafe SSL_get_client_random(pointer, random.baseAddress, random.count)
            unsafe line.withMemoryRebound(to: UInt8.self, capacity: strlen(line)) {
                unsafe secrets.take(
                    line: UnsafeBufferPointer(start: $0, count: strlen(line)),
                    random: UnsafeBufferPointer(rebasing: random.prefix(count)))
            }
        }
    }

    /// OpenSSL performs a step of a handshake: the first one, or in TLS 1.3 a KeyUpdate at any time.
    func takesHandshakeStep() {
        guard let steps = idleSteps else { return }
        idleSteps = steps + 1
        // This is the only way to end a read from inside of it: OpenSSL then treats the rest of the input as ended.
        if isRestless { unsafe SSL_set_shutdown(pointer, SSL_RECEIVED_SHUTDOWN) }
    }

    /// OpenSSL has sent or received an alert.
    func note(alert number: UInt8, isSent: Bool) {
        guard number != RecordViolation.Alert.closeNotify.rawValue else { return }
        lastAlert = (TLSAlert.name(of: number), isSent)
    }

    // MARK: Content

    /// Whether OpenSSL holds bytes of the peer.
    var hasBufferedInput: Bool { unsafe SSL_has_pending(pointer) == 1 }

    /// See ``TLSStream/read(into:using:)``.
    func read(into buffer: inout MutableSpan<UInt8>) throws(CryptoError) -> TLSTransfer {
        guard !isBroken else { return .endOfStream }
        ErrorQueue.clear()
        var count = 0
        let status = unsafe buffer.withUnsafeMutableBufferPointer {
            unsafe SSL_read_ex(pointer, $0.baseAddress, $0.count, &count)
        }
        guard status == 1 else { return try transfer(status, errno, "TLS cannot read") }
        idleSteps = 0
        return .bytes(count)
    }

    /// See ``TLSStream/write(_:using:)``.
    func write(_ bytes: Span<UInt8>) throws(CryptoError) -> TLSTransfer {
        guard !isBroken else { return .endOfStream }
        ErrorQueue.clear()
        var count = 0
        let status = unsafe bytes.withUnsafeBufferPointer {
            unsafe SSL_write_ex(pointer, $0.baseAddress, $0.count, &count)
        }
        return status == 1 ? .bytes(count) : try transfer(status, errno, "TLS cannot write")
    }

    /// Sends close_notify if the socket takes it now.
    func shutdown() {
        guard !isBroken, unsafe SSL_is_init_finished(pointer) == 1 else { return }
        ErrorQueue.clear()
        _ = unsafe SSL_shutdown(pointer)
        ErrorQueue.clear()
    }

    // MARK: Why a call did not succeed

    private var isRestless: Bool { (idleSteps ?? 0) > Self.mostIdleSteps }

    private enum Interruption { case wantsRead, wantsWrite, endOfStream }

    private func transfer(_ status: CInt, _ code: CInt, _ what: String) throws(CryptoError) -> TLSTransfer {
        switch try interruption(status, code, what) {
        case .wantsRead: .wantsRead
        case .wantsWrite: .wantsWrite
        case .endOfStream: .endOfStream
        }
    }

    /// Returns what OpenSSL waits for, or throws why it failed. `code` is errno right after the call.
    private func interruption(_ status: CInt, _ code: CInt, _ what: String) throws(CryptoError)
        -> Interruption
    {
        if isRestless {
            isBroken = true
            throw CryptoError(.peer, "\(what): too many KeyUpdates", name: "too many KeyUpdates")
        }
        switch unsafe SSL_get_error(pointer, status) {
        case SSL_ERROR_WANT_READ: return .wantsRead
        case SSL_ERROR_WANT_WRITE: return .wantsWrite
        case SSL_ERROR_ZERO_RETURN: return .endOfStream
        case SSL_ERROR_SYSCALL:
            isBroken = true
            guard code != 0 else { return .endOfStream }
            throw .system(.connection, what, code)
        default:
            isBroken = true
            let isNotTLS = ErrorQueue.isNotTLS
            let reason = reason()
            throw CryptoError(
                .peer, "\(what): \(reason)", name: lastAlert?.name ?? reason, isNotTLS: isNotTLS)
        }
    }

    /// OpenSSL's reason with the standard name of the alert. If the peer's certificate is the cause, it says what is
    /// wrong with it and what to do.
    private func reason() -> String {
        let text = ErrorQueue.takeReason()
        let verdict = unsafe SSL_get_verify_result(pointer)
        guard context.role == .client, verdict != X509_V_OK else {
            return text + (lastAlert.map { " (alert \($0.name) \($0.isSent ? "sent" : "received"))" } ?? "")
        }
        let fault = unsafe String(cString: X509_verify_cert_error_string(verdict))
        return "\(text) (\(fault))" + (Self.remedy(CInt(verdict)).map { "; \($0)" } ?? "")
    }

    private static func remedy(_ verdict: CInt) -> String? {
        switch verdict {
        case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY, X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE,
            X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN, X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
            "name the file of the authority that issued it"
        case X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH:
            "name the server as its certificate does"
        case X509_V_ERR_CERT_HAS_EXPIRED, X509_V_ERR_CERT_NOT_YET_VALID:
            "renew it, or set the clock of this machine"
        default: nil
        }
    }
}

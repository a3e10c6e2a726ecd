internal import CPostriderSSL
internal import Glibc
public import PostriderCrypto
public import PostriderTransport

/// The handshake, from a stream's first byte to its keys. OpenSSL performs it.
extension TLSStream {
    /// Takes a secret that OpenSSL reports: a line of the key log without its line break
    /// (SSL_CTX_set_keylog_callback(3)).
    func take(keyLogLine line: UnsafePointer<CChar>) {
        guard let secrets, case .library(let pointer) = engine else { return }
        unsafe withUnsafeTemporaryAllocation(of: UInt8.self, capacity: TrafficSecrets.randomBytes) { random in
            let count = unsafe SSL_get_client_random(pointer, random.baseAddress, random.count)
            unsafe line.withMemoryRebound(to: UInt8.self, capacity: strlen(line)) {
                unsafe secrets.take(
                    line: UnsafeBufferPointer(start: $0, count: strlen(line)),
                    random: UnsafeBufferPointer(rebasing: random.prefix(count)))
            }
        }
    }

    /// Continues the handshake as far as possible without blocking.
    ///
    /// - Throws: the sentence for the log. The peer was sent the alert if the socket took it.
    public func handshake(using ciphers: AEADContexts) throws(CryptoError) -> Step {
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

    /// Frees the 13 KiB that only a handshake needs, if records can go on without OpenSSL's stream. Call it when the
    /// handshake is complete and its results have been read. Otherwise nothing changes: for a client's stream, TLS
    /// 1.2, and ``TLSRecords/openssl``.
    public func leaveHandshake(using ciphers: AEADContexts) {
        guard case .library(let pointer) = engine else { return }
        defer { secrets = nil }
        if !isBroken, let layer = unsafe Self.records(of: pointer, secrets, ciphers) {
            engine = .records(RecordStream(layer, descriptor: descriptor))
            unsafe SSL_free(pointer)
        } else {
            // From now on each read takes as much as the socket has.
            unsafe CSSL_set_read_ahead(pointer, 1)
        }
    }

    /// Makes the record layer for the time after a handshake; nil if the stream has to stay with OpenSSL: it is a
    /// client's or uses TLS 1.2, or OpenSSL has read bytes after the handshake, or has not reported the secrets.
    private static func records(
        of pointer: OpaquePointer, _ secrets: TrafficSecrets?, _ ciphers: AEADContexts
    ) -> RecordLayer? {
        guard let secrets, unsafe SSL_is_init_finished(pointer) == 1,
            unsafe SSL_version(pointer) == TLS1_3_VERSION, unsafe SSL_has_pending(pointer) == 0,
            let suite = unsafe RecordSuite(
                identifier: SSL_CIPHER_get_protocol_id(SSL_get_current_cipher(pointer)))
        else { return nil }
        return unsafe secrets.records(
            suite, contentLimit: contentLimit(of: pointer), ciphers.derivation)
    }

    /// The most content of a record in bytes. A client may have negotiated less than TLS allows (max_fragment_length,
    /// RFC 6066, section 4), which OpenSSL grants. OpenSSL grants no other extension that affects records.
    private static func contentLimit(of pointer: OpaquePointer) -> Int {
        let code = unsafe SSL_SESSION_get_max_fragment_length(SSL_get_session(pointer))
        return 1...4 ~= code ? 256 << Int(code) : RecordLayer.mostContent
    }

    /// OpenSSL performs a step of a handshake: the first one, or in TLS 1.3 a KeyUpdate at any time.
    func takesHandshakeStep() {
        guard let steps = idleSteps else { return }
        idleSteps = steps + 1
        // This is the only way to end a read from inside of it: OpenSSL then treats the rest of the input as ended.
        if isRestless { unsafe SSL_set_shutdown(pointer, SSL_RECEIVED_SHUTDOWN) }
    }

    /// Sets the name for which the server's certificate must be valid.
    func expect(_ serverName: String) throws(CryptoError) {
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
}

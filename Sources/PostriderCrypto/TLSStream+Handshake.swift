internal import CPostriderOpenSSL
internal import Glibc

/// From a stream's first byte to its keys, which OpenSSL takes care of.
extension TLSStream {
    /// Does what can be done of the handshake without waiting.
    ///
    /// - Throws: the sentence for the log; the peer was sent the alert, if the socket took it.
    public func handshake(using ciphers: AEADContexts) throws(CryptoError) -> Step {
        precondition(!isBroken, "a handshake that failed is not repeated")
        ErrorQueue.clear()
        let status = ciphers.schedule.lead(secrets) { unsafe SSL_do_handshake(pointer) }
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

    /// Lets go of what only a handshake needs, which is 13 KiB: to be called when it is complete, and what was
    /// negotiated has been looked at. Of a client's stream, or one of TLS 1.2, nothing can be let go.
    public func leaveHandshake(using ciphers: AEADContexts) {
        guard case .library(let pointer) = engine else { return }
        defer { secrets = nil }
        guard !isBroken, let layer = unsafe Self.records(of: pointer, secrets, ciphers) else {
            // What follows is read as much at a time as there is.
            unsafe COpenSSL_set_read_ahead(pointer, 1)
            return
        }
        engine = .records(RecordStream(layer, descriptor: descriptor))
        unsafe SSL_free(pointer)
    }

    /// The records that follow a handshake, if it was a server's, one of TLS 1.3, and nothing behind it has been read.
    private static func records(
        of pointer: OpaquePointer, _ secrets: TrafficSecrets?, _ ciphers: AEADContexts
    ) -> RecordLayer? {
        guard let secrets, unsafe SSL_is_init_finished(pointer) == 1,
            unsafe SSL_version(pointer) == TLS1_3_VERSION, unsafe SSL_has_pending(pointer) == 0,
            let suite = unsafe RecordSuite(
                identifier: SSL_CIPHER_get_protocol_id(SSL_get_current_cipher(pointer))),
            let keys = secrets.keys(suite, ciphers.schedule.hkdf)
        else { return nil }
        return RecordLayer(
            suite, receiving: keys.ofClient, sending: keys.ofServer,
            contentLimit: unsafe contentLimit(of: pointer))
    }

    /// The most content of a record in bytes. A client may have asked for less than TLS allows (max_fragment_length,
    /// RFC 6066, section 4), which OpenSSL grants. Of the extensions that it grants, no other obliges the records.
    private static func contentLimit(of pointer: OpaquePointer) -> Int {
        let code = unsafe SSL_SESSION_get_max_fragment_length(SSL_get_session(pointer))
        return 1...4 ~= code ? 256 << Int(code) : RecordLayer.mostContent
    }

    /// OpenSSL goes through a step of a handshake: the first one, or in TLS 1.3 a change of keys at any time.
    func takesHandshakeStep() {
        guard let steps = idleSteps else { return }
        idleSteps = steps + 1
        // The one way to have a read end from within: the rest of the input is taken for the peer's last.
        if isRestless { unsafe SSL_set_shutdown(pointer, SSL_RECEIVED_SHUTDOWN) }
    }

    /// Sets the name that the server's certificate must carry.
    func expect(_ serverName: String) throws(CryptoError) {
        guard !serverName.isEmpty, !serverName.utf8.contains(0) else {
            throw CryptoError(.local, "A TLS client needs the name of its server")
        }
        if unsafe X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(pointer), serverName) == 1 { return }
        ErrorQueue.clear()
        unsafe SSL_set_hostflags(pointer, UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS))
        guard unsafe SSL_set1_host(pointer, serverName) == 1,
            unsafe COpenSSL_set_tlsext_host_name(pointer, serverName) == 1
        else { throw .local("The server name \(serverName) cannot be used") }
    }
}

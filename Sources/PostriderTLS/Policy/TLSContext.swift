internal import CPostriderSSL
internal import Glibc
public import PostriderCrypto

/// The configuration that all TLS connections of one listener or one client share: the policy, our certificate, and
/// the certificates that we trust. It is immutable and may be used on every thread; to reload certificates, make a
/// new one.
///
/// The policy is the same for both sides: TLS 1.2 and 1.3, only with AEAD suites, ephemeral X25519 or P-256, and
/// SHA-2 signatures; no renegotiation, no compression, and no early data (a replayed push is a duplicate).
///
/// There is no session resumption, neither by tickets nor from a cache. A ticket would outlive the verified
/// certificate and the configuration under which it was issued, its keys would be a secret that defeats forward
/// secrecy, and it would save only one ECDSA signature for a connection that then stays open for hours.
@safe public final class TLSContext: Sendable {
    /// Whether a server requests certificates of its clients.
    public enum ClientCertificates: Sendable {
        /// It requests no certificate.
        case none
        /// It requests a certificate, which a client need not have. The certificate is verified against those in
        /// `trustFile` (PEM), and the result is in ``PeerCertificate/isVerified``. The handshake succeeds in any
        /// case, because a provider with a bad certificate gets the reason by HTTP/2, where its library can
        /// understand it.
        case requested(trustFile: String)
    }

    enum Role: Sendable { case server, client }

    /// The `SSL_CTX`. OpenSSL counts its references atomically and only reads it once connections are made from it;
    /// this module does not change it after `server` or `client` has returned.
    nonisolated(unsafe) let pointer: OpaquePointer
    let role: Role
    /// The implementation of the record layer after a server's handshake.
    let records: TLSRecords
    /// Our ALPN protocols in TLS encoding, each preceded by a byte with its length (RFC 7301, section 3.1).
    private let protocols: [UInt8]

    private init(_ role: Role, alpn: [String], records: TLSRecords = .openssl) throws(CryptoError) {
        var protocols = [UInt8]()
        for name in alpn {
            precondition(1...255 ~= name.utf8.count, "an ALPN name has 1 to 255 bytes")
            protocols.append(UInt8(name.utf8.count))
            protocols.append(contentsOf: name.utf8)
        }
        ErrorQueue.clear()
        let method = unsafe role == .server ? TLS_server_method() : TLS_client_method()
        guard let pointer = unsafe SSL_CTX_new(method) else { throw .local("TLS cannot be set up") }
        unsafe self.pointer = pointer
        self.role = role
        self.records = records
        self.protocols = protocols
        try applyPolicy()
    }

    deinit { unsafe SSL_CTX_free(pointer) }

    /// Makes the context of a server.
    ///
    /// - Parameters:
    ///   - certificateChainFile: PEM with our certificate first, followed by the intermediate certificates.
    ///   - privateKeyFile: PEM without a passphrase: a regular file (symbolic links are followed) that can be read
    ///     only by root, the user of this process, and members of root's group and of `keyReaders`.
    ///   - keyReaders: numbers of groups.
    ///   - alpn: the supported protocols. A client that offers only others gets the fatal alert
    ///     `no_application_protocol` (RFC 7301, section 3.2).
    ///   - allowsMissingALPN: whether a client without ALPN is served; otherwise it gets the same alert.
    ///   - clientCertificates: whether to request a certificate.
    ///   - records: the implementation of the record layer for TLS 1.3 after the handshake.
    /// - Throws: a sentence that names the file that is missing, unreadable, accessible to other users or malformed,
    ///   or that does not belong to the other file.
    public static func server(
        certificateChainFile: String, privateKeyFile: String, keyReaders: Set<UInt32> = [], alpn: [String],
        allowsMissingALPN: Bool, clientCertificates: ClientCertificates, records: TLSRecords = .own
    ) throws(CryptoError) -> TLSContext {
        let context = try TLSContext(.server, alpn: alpn, records: records)
        try context.use(
            certificateChainFile: certificateChainFile, privateKeyFile: privateKeyFile,
            keyReaders: keyReaders)
        context.selectProtocol(allowsMissingALPN: allowsMissingALPN)
        if records == .own { context.hearSecrets() }
        switch clientCertificates {
        case .none: break
        case .requested(let trustFile):
            try context.trust(trustFile)
            context.requestCertificate()
        }
        return context
    }

    /// Makes the context of a client. The handshake fails unless the server's certificate chains to a trusted one,
    /// and is valid for the name with which the ``TLSStream`` is made.
    ///
    /// - Parameters:
    ///   - trustFile: PEM with the trusted certificates; nil for those of the operating system.
    ///   - alpn: the protocols to offer, the preferred one first.
    ///   - certificateChainFile: our own certificate for a server that requests one; nil for none.
    ///   - privateKeyFile: the key of that certificate; given if and only if there is one.
    /// - Throws: the same errors as for a server.
    public static func client(
        trustFile: String?, alpn: [String], certificateChainFile: String? = nil, privateKeyFile: String? = nil
    ) throws(CryptoError) -> TLSContext {
        let context = try TLSContext(.client, alpn: alpn)
        if let trustFile {
            try context.trust(trustFile)
        } else if unsafe SSL_CTX_set_default_verify_paths(context.pointer) != 1 {
            throw .local("The certificates that this system trusts cannot be read")
        }
        switch (certificateChainFile, privateKeyFile) {
        case (nil, nil): break
        case (let certificate?, let key?):
            try context.use(certificateChainFile: certificate, privateKeyFile: key)
        case (let certificate?, nil):
            throw CryptoError(
                .local, "The certificate \(certificate) needs its private key; name that file too")
        case (nil, let key?):
            throw CryptoError(.local, "The private key \(key) needs its certificate; name that file too")
        }
        unsafe SSL_CTX_set_verify(context.pointer, SSL_VERIFY_PEER, nil)
        let status = unsafe context.protocols.withUnsafeBufferPointer {
            unsafe SSL_CTX_set_alpn_protos(context.pointer, $0.baseAddress, UInt32($0.count))
        }
        precondition(status == 0, "the protocols were encoded as TLS wants them")
        return context
    }

    /// When the certificate expires, in seconds since 1970; nil if there is no certificate, or its time cannot be
    /// read.
    public var certificateExpiry: Int? {
        guard let certificate = unsafe SSL_CTX_get0_certificate(pointer) else { return nil }
        var expiry = unsafe tm()
        guard unsafe ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &expiry) == 1 else { return nil }
        return unsafe timegm(&expiry)
    }

    /// Why clients would reject this server certificate, as far as the certificate alone tells; nil if nothing is
    /// wrong.
    ///
    /// - Parameter seconds: the time in seconds since 1970; the current time if it is nil.
    /// - Returns: the rest of a sentence that begins with the certificate.
    public func mistakeInCertificate(at seconds: Int? = nil) -> String? {
        guard let certificate = unsafe SSL_CTX_get0_certificate(pointer) else { return nil }
        var now = seconds ?? time(nil)
        // X509_cmp_time returns 0 for a time that cannot be read.
        if unsafe X509_cmp_time(X509_get0_notAfter(certificate), &now) < 0 { return "has expired" }
        if unsafe X509_cmp_time(X509_get0_notBefore(certificate), &now) > 0 { return "is not valid yet" }
        // OpenSSL's clients check this, too: the permitted uses, if the certificate restricts them.
        guard unsafe X509_check_purpose(certificate, X509_PURPOSE_SSL_SERVER, 0) == 1 else {
            return "is not for a server"
        }
        return nil
    }

    /// The signature algorithms that are permitted in certificates and handshakes.
    private static let signatures =
        "ECDSA+SHA256:ECDSA+SHA384:ECDSA+SHA512:ed25519:RSA-PSS+SHA256:RSA-PSS+SHA384:RSA-PSS+SHA512"
        + ":RSA+SHA256:RSA+SHA384:RSA+SHA512"

    private func applyPolicy() throws(CryptoError) {
        let options =
            CSSL_OP_NO_TICKET | CSSL_OP_NO_COMPRESSION | CSSL_OP_NO_RENEGOTIATION
            | CSSL_OP_IGNORE_UNEXPECTED_EOF
        _ = unsafe SSL_CTX_set_options(pointer, options)
        // Idle connections and waiting handshakes, of which there may be thousands, keep no record buffers; a write
        // that was cut short may be repeated from another address; the certificates that are sent are exactly those
        // of the file.
        let modes =
            CLong(SSL_MODE_RELEASE_BUFFERS) | CLong(SSL_MODE_ENABLE_PARTIAL_WRITE)
            | CLong(SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER) | CLong(SSL_MODE_NO_AUTO_CHAIN)
        unsafe CSSL_CTX_set_mode(pointer, modes)
        unsafe CSSL_CTX_disable_session_cache(pointer)
        unsafe SSL_CTX_set_security_level(pointer, 2)
        // With read-ahead, a run of records takes one system call instead of two per record. A server does not read
        // beyond the end of its handshake, because another record layer may read what follows
        // (`TLSStream.leaveHandshake`).
        unsafe CSSL_CTX_set_read_ahead(pointer, role == .client ? 1 : 0)
        // This disables early data even if resumption should ever be added.
        _ = unsafe SSL_CTX_set_max_early_data(pointer, 0)
        _ = unsafe SSL_CTX_set_recv_max_early_data(pointer, 0)
        let suites = "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256"
        guard unsafe SSL_CTX_set_num_tickets(pointer, 0) == 1,
            unsafe CSSL_CTX_set_min_proto_version(pointer, TLS1_2_VERSION) == 1,
            unsafe SSL_CTX_set_ciphersuites(pointer, suites) == 1,
            unsafe SSL_CTX_set_cipher_list(pointer, "ECDHE+AESGCM:ECDHE+CHACHA20") == 1,
            unsafe CSSL_CTX_set1_groups_list(pointer, "X25519:P-256") == 1,
            unsafe CSSL_CTX_set1_sigalgs_list(pointer, Self.signatures) == 1
        else { throw .local("OpenSSL lacks a suite, a curve or a signature algorithm that is needed") }
        unsafe SSL_CTX_set_info_callback(
            pointer,
            { ssl, event, value in
                if event & SSL_CB_LOOP != 0 { unsafe OpenSSLStream.behind(ssl)?.takesHandshakeStep() }
                if event & SSL_CB_ALERT != 0 {
                    unsafe OpenSSLStream.behind(ssl)?.note(
                        alert: UInt8(truncatingIfNeeded: value), isSent: event & SSL_CB_WRITE != 0)
                }
            })
    }

    private func use(
        certificateChainFile: String, privateKeyFile: String, keyReaders: Set<UInt32> = []
    ) throws(CryptoError) {
        try Self.checkReadable(certificateChainFile, "The certificate")
        ErrorQueue.clear()
        guard unsafe SSL_CTX_use_certificate_chain_file(pointer, certificateChainFile) == 1 else {
            throw .local("The certificate \(certificateChainFile) holds no usable certificate in PEM")
        }
        let key = try Key.privateKey(file: privateKeyFile, readableBy: keyReaders)
        let chain = unsafe CertificateChain(of: pointer)
        if let mistake = chain.mistakeInOrder(for: key) {
            throw CryptoError(.local, "In the certificate file \(certificateChainFile) \(mistake)")
        }
        ErrorQueue.clear()
        guard unsafe SSL_CTX_use_PrivateKey(pointer, key.pointer) == 1,
            unsafe SSL_CTX_check_private_key(pointer) == 1
        else {
            ErrorQueue.clear()
            throw CryptoError(
                .local,
                "The private key \(privateKeyFile) is not the one of the certificate "
                    + "\(certificateChainFile); name two files that were issued together")
        }
    }

    private func trust(_ file: String) throws(CryptoError) {
        try Self.checkReadable(file, "The trust file")
        ErrorQueue.clear()
        guard unsafe SSL_CTX_load_verify_file(pointer, file) == 1 else {
            throw .local("The trust file \(file) holds no certificate in PEM")
        }
    }

    /// Checks that a file is readable. OpenSSL only reports that a file is missing; this error says which one and
    /// why.
    private static func checkReadable(_ path: String, _ name: String) throws(CryptoError) {
        guard unsafe access(path, R_OK) == 0 else {
            throw .system(
                .local, "\(name) \(path) cannot be read", errno,
                remedy: "name a file that is there and that this user may read")
        }
    }

    private func requestCertificate() {
        unsafe SSL_CTX_set_verify(pointer, SSL_VERIFY_PEER, nil)
        // The list of names that we trust is not sent. With such a list, a client whose certificate has another
        // issuer would send none, and could not be told what is wrong. The first error that verification finds is
        // recorded.
        unsafe SSL_CTX_set_cert_verify_callback(
            pointer,
            { chain, _ in
                if unsafe X509_verify_cert(chain) != 1, unsafe X509_STORE_CTX_get_error(chain) == X509_V_OK {
                    unsafe X509_STORE_CTX_set_error(chain, X509_V_ERR_UNSPECIFIED)
                }
                return 1
            }, nil)
    }

    /// Makes OpenSSL report the traffic secrets to their stream. They are not stored or written here.
    private func hearSecrets() {
        unsafe SSL_CTX_set_keylog_callback(
            pointer,
            { ssl, line in
                guard let line = unsafe line else { return }
                unsafe OpenSSLStream.behind(ssl)?.take(keyLogLine: line)
            })
    }

    private func selectProtocol(allowsMissingALPN: Bool) {
        // The callbacks get this object unretained, because each OpenSSLStream keeps its context as long as its SSL.
        unsafe SSL_CTX_set_alpn_select_cb(
            pointer,
            { _, chosen, chosenCount, offered, offeredCount, context in
                guard let context = unsafe context else { preconditionFailure("the context was given") }
                let ours = unsafe Unmanaged<TLSContext>.fromOpaque(context).takeUnretainedValue().protocols
                // The client's list is the first argument, so that the result points into it and outlives this call.
                return unsafe ours.withUnsafeBufferPointer { ours in
                    var name: UnsafeMutablePointer<UInt8>?
                    let verdict = unsafe SSL_select_next_proto(
                        &name, chosenCount, offered, offeredCount, ours.baseAddress, UInt32(ours.count))
                    unsafe chosen?.pointee = UnsafePointer(name)
                    return verdict == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL
                }
            }, Unmanaged.passUnretained(self).toOpaque())
        guard !allowsMissingALPN else { return }
        unsafe SSL_CTX_set_client_hello_cb(
            pointer,
            { ssl, alert, _ in
                let extensionKind = UInt32(TLSEXT_TYPE_application_layer_protocol_negotiation)
                guard unsafe SSL_client_hello_get0_ext(ssl, extensionKind, nil, nil) == 0 else {
                    return SSL_CLIENT_HELLO_SUCCESS
                }
                unsafe alert?.pointee = SSL_AD_NO_APPLICATION_PROTOCOL
                return SSL_CLIENT_HELLO_ERROR
            }, nil)
    }
}

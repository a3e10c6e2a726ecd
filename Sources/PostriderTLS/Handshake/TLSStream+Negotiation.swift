internal import CPostriderSSL
internal import PostriderCrypto
public import PostriderTransport

/// The results of a handshake. They can be read until `leaveHandshake(using:)`.
extension TLSStream {
    /// The protocol that ALPN selected; nil if there is none.
    public var negotiatedProtocol: String? {
        var start: UnsafePointer<UInt8>?
        var count: UInt32 = 0
        unsafe SSL_get0_alpn_selected(pointer, &start, &count)
        guard let start = unsafe start else { return nil }
        return unsafe String(decoding: UnsafeBufferPointer(start: start, count: Int(count)), as: UTF8.self)
    }

    /// The negotiated version, such as "TLSv1.3".
    public var version: String { unsafe String(cString: SSL_get_version(pointer)) }

    /// The negotiated cipher suite, such as "TLS_AES_128_GCM_SHA256".
    public var cipher: String { unsafe String(cString: SSL_CIPHER_get_name(SSL_get_current_cipher(pointer))) }

    /// The host name that the client asked for; nil if it sent none.
    public var serverName: String? {
        unsafe SSL_get_servername(pointer, TLSEXT_NAMETYPE_host_name).map { unsafe String(cString: $0) }
    }

    /// The peer's certificate; nil if it presented none. Each call copies it.
    public var peerCertificate: PeerCertificate? {
        guard let certificate = unsafe SSL_get0_peer_certificate(pointer) else { return nil }
        let isVerified = unsafe SSL_get_verify_result(pointer) == X509_V_OK
        var start: UnsafeMutablePointer<UInt8>?
        let count = unsafe i2d_X509(certificate, &start)
        guard count > 0, let start = unsafe start else { preconditionFailure("out of memory") }
        defer { unsafe CRYPTO_free(start, #fileID, #line) }
        let der = unsafe Array(UnsafeBufferPointer(start: start, count: Int(count)))
        return PeerCertificate(der: der, isVerified: isVerified)
    }
}

// MARK: - Why there is none

extension TLSStream {
    /// OpenSSL's reason with the standard name of the alert. If the peer's certificate is the cause, it says what is
    /// wrong with it and what to do.
    func reason() -> String {
        let text = ErrorQueue.takeReason()
        let verdict = unsafe SSL_get_verify_result(pointer)
        guard context.role == .client, verdict != X509_V_OK else {
            return text + (lastAlert.map { " (alert \($0.name) \($0.isSent ? "sent" : "received"))" } ?? "")
        }
        let fault = unsafe String(cString: X509_verify_cert_error_string(verdict))
        return "\(text) (\(fault))" + (Self.remedy(CInt(verdict)).map { "; \($0)" } ?? "")
    }

    /// OpenSSL has sent or received an alert.
    func note(alert number: UInt8, isSent: Bool) {
        guard number != RecordViolation.Alert.closeNotify.rawValue else { return }
        lastAlert = (TLSAlert.name(of: number), isSent)
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

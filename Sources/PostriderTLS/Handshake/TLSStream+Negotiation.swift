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

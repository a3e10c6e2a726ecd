internal import CPostriderSSL
internal import PostriderCrypto

/// The certificates that a server or a client presents, in the order of its file. It refers to data of an `SSL_CTX`
/// and must not outlive it.
@safe struct CertificateChain {
    private let certificates: [OpaquePointer]

    /// Reads the certificates of a context.
    init(of context: OpaquePointer) {
        var certificates = unsafe [OpaquePointer]()
        if let own = unsafe SSL_CTX_get0_certificate(context) { unsafe certificates.append(own) }
        let others = unsafe CSSL_CTX_get0_chain_certs(context)
        for index in 0..<max(unsafe OPENSSL_sk_num(others), 0) {
            guard let certificate = unsafe OPENSSL_sk_value(others, index) else { continue }
            unsafe certificates.append(OpaquePointer(certificate))
        }
        unsafe self.certificates = certificates
    }

    /// What is wrong with the order of the certificates. TLS wants our own certificate first, and after each the one
    /// that issued it (RFC 5246, section 7.4.2; TLS 1.3 lets clients ignore the order, but many do not).
    ///
    /// - Returns: the rest of a sentence that begins with the file; nil if the order is right, or if the key belongs
    ///   to none of the certificates.
    func mistakeInOrder(for key: Key) -> String? {
        let own = unsafe certificates.firstIndex { certificate in
            ErrorQueue.clear()
            return unsafe X509_check_private_key(certificate, key.pointer) == 1
        }
        ErrorQueue.clear()
        guard let own else { return nil }
        let order =
            "put the certificate of the private key first, and behind each certificate the one that issued it"
        guard own == 0 else {
            return
                "the certificate of the private key is the \(Self.ordinal(own)) and not the first: \(order)"
        }
        for index in unsafe certificates.indices.dropFirst() {
            let result = unsafe X509_check_issued(certificates[index], certificates[index - 1])
            guard result != X509_V_OK else { continue }
            let reason = unsafe String(cString: X509_verify_cert_error_string(CLong(result)))
            return "the \(Self.ordinal(index)) certificate did not issue the \(Self.ordinal(index - 1)) "
                + "(\(reason)): \(order)"
        }
        return nil
    }

    private static func ordinal(_ index: Int) -> String {
        let words = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth"]
        return words.indices.contains(index) ? words[index] : "\(index + 1)th"
    }
}

internal import CPostriderSSL
internal import PostriderCrypto

/// Compares certificates with names, for servers whose clients present certificates. A client's handshake compares the
/// server's certificate itself.
public enum CertificateName {
    /// Whether a certificate is for a host name, by its alternative names, or by its common name if it has none (RFC
    /// 6125, section 6.4). Whether anybody should trust the certificate is another question.
    public static func matches(_ name: String, der: [UInt8]) -> Bool {
        ErrorQueue.clear()
        defer { ErrorQueue.clear() }
        let certificate = unsafe der.withUnsafeBufferPointer { bytes in
            var start = bytes.baseAddress
            return unsafe d2i_X509(nil, &start, bytes.count)
        }
        guard let certificate = unsafe certificate else { return false }
        defer { unsafe X509_free(certificate) }
        return unsafe X509_check_host(certificate, name, name.utf8.count, 0, nil) == 1
    }
}

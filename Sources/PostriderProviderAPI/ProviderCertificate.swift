import PostriderCrypto

/// What matters of a provider's certificate.
package struct ProviderCertificate {
    /// The UID of its subject.
    let userIdentifier: String?
    /// Apple's extensions; nil if they are malformed.
    let extensions: PushExtensions?
    /// Whether it leads to a certificate that the operator trusts, is within its validity, and may be used for this. If
    /// false, nothing else counts.
    let isVerified: Bool

    /// A certificate from its parts.
    init(userIdentifier: String?, extensions: PushExtensions?, isVerified: Bool) {
        self.userIdentifier = userIdentifier
        self.extensions = extensions
        self.isVerified = isVerified
    }

    /// Reads the certificate that was presented in the handshake, in DER.
    ///
    /// - Parameter isVerified: whether the handshake has verified it.
    package init(der: [UInt8], isVerified: Bool) {
        let details = isVerified ? CertificateDetails(der: der) : nil
        self.init(
            userIdentifier: details?.userIdentifier, extensions: details.flatMap(PushExtensions.init),
            isVerified: details != nil)
    }
}

import PostriderCrypto
import PostriderTransport

/// What counts of the certificate that a provider has shown.
struct ProviderCertificate {
    /// The UID of its subject.
    let userIdentifier: String?
    /// Apple's extensions; nil if they are malformed.
    let extensions: PushExtensions?
    /// Whether the operator trusts it, and it is in its time and for this use. When false, nothing else counts.
    let isVerified: Bool

    /// A certificate from its parts.
    init(userIdentifier: String?, extensions: PushExtensions?, isVerified: Bool) {
        self.userIdentifier = userIdentifier
        self.extensions = extensions
        self.isVerified = isVerified
    }

    /// Reads the certificate of a handshake.
    init(_ shown: PeerCertificate) {
        let details = shown.isVerified ? CertificateDetails(der: shown.der) : nil
        self.init(
            userIdentifier: details?.userIdentifier, extensions: details.flatMap(PushExtensions.init),
            isVerified: details != nil)
    }
}

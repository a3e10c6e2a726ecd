import PostriderCrypto
import PostriderNotifications

/// What a provider may push to, once it has said who it is.
enum ProviderGrant {
    /// By a token: what its key is good for.
    case token(ProviderKey)
    /// By a certificate: what stands in it.
    case certificate(CertificateScope)

    /// The topic of a push that names none ("Sending notification requests to APNs"): that of a certificate with
    /// one topic.
    var defaultTopic: Topic? {
        switch self {
        case .token: nil
        case .certificate(let scope): scope.defaultTopic
        }
    }

    /// How the provider has proved who it is.
    var proof: ProviderProof {
        switch self {
        case .token(let key): .key(key.identifier)
        case .certificate: .certificate
        }
    }

    /// Whether a push of this type may go to this topic; if not, it is `TopicDisallowed`.
    func allows(_ topic: Topic, _ pushType: PushType?, by authority: AccessPolicy) -> Bool {
        switch self {
        case .token(let key):
            authority.team(of: topic) == key.team && key.topics?.contains(topic) ?? true
        case .certificate(let scope):
            // The operator's list of topics counts here as well: what was removed from it is nobody's. Location
            // pushes are for tokens only (the contract's section 2.3).
            pushType != .location && topic.suffixType != .location && scope.topics.contains(topic)
                && authority.team(of: topic) != nil
        }
    }
}

/// What a provider's certificate is good for (the contract's section 3.3; "Establishing a certificate-based
/// connection to APNs").
final class CertificateScope: Sendable {
    /// The UID of the subject and the topics of the extensions.
    let topics: Set<Topic>
    /// The UID of the subject where it is the only topic.
    let defaultTopic: Topic?

    /// The scope of a certificate on a listener of `environment`.
    ///
    /// - Throws: `BadCertificate` where the certificate does not lead to one that the operator trusts, is out of
    ///   its time, or names no topic; `BadCertificateEnvironment` where it is for the other environment. One that
    ///   names no environment is good in both: Apple issues none, so it is the operator's own.
    init(_ certificate: ProviderCertificate, in environment: Environment) throws(Rejection) {
        guard certificate.isVerified, let extensions = certificate.extensions else {
            throw .badCertificate
        }
        let names =
            [certificate.userIdentifier].compactMap(\.self) + extensions.topics + extensions.voipTopics
        let topics = Set(names.compactMap(Topic.init))
        guard !topics.isEmpty, topics.count == Set(names).count, topics.count <= Limits.certificateTopics
        else {
            throw .badCertificate
        }
        guard
            extensions.isForDevelopment == extensions.isForProduction
                || (environment == .production ? extensions.isForProduction : extensions.isForDevelopment)
        else { throw .badCertificateEnvironment }
        self.topics = topics
        defaultTopic = topics.count == 1 ? certificate.userIdentifier.flatMap(Topic.init) : nil
    }
}

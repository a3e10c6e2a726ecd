import PostriderCrypto
package import PostriderNotifications

/// What an authenticated provider may push to.
package enum ProviderGrant {
    /// With a token: the rights of its key.
    case token(ProviderKey)
    /// With a certificate: its scope.
    case certificate(CertificateScope)
    /// On the control socket: every topic that the relay knows.
    case controlSocket

    /// The topic of a push without `apns-topic` ("Sending notification requests to APNs"): that of a certificate with
    /// one topic.
    package var defaultTopic: Topic? {
        switch self {
        case .token, .controlSocket: nil
        case .certificate(let scope): scope.defaultTopic
        }
    }

    /// How the provider is authenticated.
    var proof: ProviderProof {
        switch self {
        case .token(let key): .key(key.identifier)
        case .certificate: .certificate
        case .controlSocket: .key("control-socket")
        }
    }

    /// Whether a push of this type may go to this topic; otherwise the reason is `TopicDisallowed`.
    package func allows(_ topic: Topic, _ pushType: PushType?, by authority: AccessPolicy) -> Bool {
        switch self {
        case .token(let key):
            authority.team(of: topic) == key.team && key.topics?.contains(topic) ?? true
        case .certificate(let scope):
            // The operator's list of topics counts here as well: a topic that was removed from it belongs to nobody.
            // Location pushes need a token (the contract's section 2.3).
            pushType != .location && topic.suffixType != .location && scope.topics.contains(topic)
                && authority.team(of: topic) != nil
        case .controlSocket: authority.team(of: topic) != nil
        }
    }
}

/// The topics that a provider's certificate may be used for (the contract's section 3.3; "Establishing a
/// certificate-based connection to APNs").
package final class CertificateScope: Sendable {
    /// The UID of the subject and the topics of the extensions.
    let topics: Set<Topic>
    /// The UID of the subject, if it is the only topic.
    let defaultTopic: Topic?

    /// The scope of a certificate on a listener of `environment`.
    ///
    /// - Throws: `BadCertificate` if the certificate does not lead to one that the operator trusts, is outside its
    ///   validity, or names no topic; `BadCertificateEnvironment` if it is for the other environment. A certificate
    ///   that names no environment is valid in both: Apple issues none, so it is the operator's own.
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

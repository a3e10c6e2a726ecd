import Crypto
import Notifications

/// Who may push to what, and which devices may enrol: an immutable picture of the registry that every shard
/// holds and that is replaced whole when the operator changes something.
final class Authority: Sendable {
    /// A provider's key, ready to verify with.
    struct ProviderKey: Sendable {
        let team: String
        let publicKey: ES256.PublicKey
    }

    /// Rises with every change; what was concluded from an older one is concluded again.
    let generation: UInt64
    /// Keys by their identifier.
    let providerKeys: [String: ProviderKey]
    /// The team of each topic.
    let topics: [Topic: String]
    /// Digests of the enrolment keys.
    let enrolmentKeyDigests: [[UInt8]]

    /// A picture of these records. A key that does not parse is left out: it was checked when it was added,
    /// so this happens only when the database was edited by hand, and `log` says so.
    init(
        generation: UInt64,
        providerKeys: [ProviderKeyRecord],
        topics: [TopicRecord],
        enrolmentKeys: [EnrolmentKeyRecord],
        log: Log
    ) {
        self.generation = generation
        var keys: [String: ProviderKey] = [:]
        for record in providerKeys {
            do throws(CryptoError) {
                keys[record.identifier] = ProviderKey(
                    team: record.team,
                    publicKey: try ES256.PublicKey(pem: record.publicKey)
                )
            } catch {
                log.error("provider key \(record.identifier) is not used: \(error)")
            }
        }
        self.providerKeys = keys
        self.topics = Dictionary(
            topics.map { ($0.topic, $0.team) }, uniquingKeysWith: { _, newest in newest })
        self.enrolmentKeyDigests = enrolmentKeys.map(\.digest)
    }

    /// The team whose providers may push to a topic. One with the suffix of a push type belongs to the team of its
    /// app, without having been added itself.
    func team(of topic: Topic) -> String? {
        if let team = topics[topic] { return team }
        return topic.suffixType == nil ? nil : topics[topic.bundle]
    }

    /// Whether `key` is one with which devices may enrol. Every digest is compared, each in constant time.
    func admitsEnrolment(with key: [UInt8]) -> Bool {
        let digest = SHA256.digest(key.span).bytes
        var isKnown = false
        for known in enrolmentKeyDigests where constantTimeEquals(known.span, digest.span) { isKnown = true }
        return isKnown
    }
}

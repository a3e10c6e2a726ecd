import PostriderCrypto
import PostriderNotifications

/// A provider's key, ready to verify with: what it is good for does not change as long as it lives.
final class ProviderKey: Sendable {
    let record: ProviderKeyRecord
    let publicKey: ES256.PublicKey
    /// The topics of a topic-specific key; nil: every topic of its team.
    let topics: Set<Topic>?
    /// The one other key whose tokens may come on the same connection.
    let related: String?

    /// The `kid` of its tokens.
    var identifier: String { record.identifier }
    /// The `iss` of its tokens.
    var team: String { record.team }
    /// The environment that it is for; nil: both.
    var environment: Environment? { record.environment }
    /// Whether it is for certain topics only.
    var isTopicSpecific: Bool { topics != nil }
    /// Whether its tokens are known and refused.
    var isRevoked: Bool { record.revokedAt != nil }

    /// A key from its record. `related` is the key that it is related to, by its own record or the other's.
    init(_ record: ProviderKeyRecord, related: String?) throws(CryptoError) {
        self.record = record
        publicKey = try ES256.PublicKey(pem: record.publicKey)
        topics = record.topics.map(Set.init)
        self.related = related
    }
}

/// Who may push to what, and which devices may enrol: an immutable picture of the registry that every shard
/// holds and that is replaced whole when the operator changes something.
final class AccessPolicy: Sendable {
    /// Rises with every change; what was concluded from an older one is concluded again.
    let generation: UInt64
    /// Keys by their identifier.
    let providerKeys: [String: ProviderKey]
    /// The team of each topic.
    let topics: [Topic: String]
    /// The topics that may have channels.
    let broadcastTopics: Set<Topic>
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
        // Related is related both ways, whichever key was told of the other.
        var relations: [String: String] = [:]
        for record in providerKeys {
            guard let related = record.relatedKey else { continue }
            relations[record.identifier] = related
            relations[related] = record.identifier
        }
        var keys: [String: ProviderKey] = [:]
        for record in providerKeys {
            do throws(CryptoError) {
                keys[record.identifier] = try ProviderKey(record, related: relations[record.identifier])
            } catch {
                log.error("provider key \(record.identifier) is not used: \(error)")
            }
        }
        self.providerKeys = keys
        self.topics = Dictionary(
            topics.map { ($0.topic, $0.team) }, uniquingKeysWith: { _, newest in newest })
        self.broadcastTopics = Set(topics.filter(\.takesBroadcasts).map(\.topic))
        self.enrolmentKeyDigests = enrolmentKeys.map(\.digest)
    }

    /// The team whose providers may push to a topic. One with the suffix of a push type belongs to the team of its
    /// app, without having been added itself.
    func team(of topic: Topic) -> String? {
        topics[topic] ?? topics[topic.bundle]
    }

    /// Whether `key` is one with which devices may enrol. Every digest is compared, each in constant time.
    func admitsEnrolment(with key: [UInt8]) -> Bool {
        let digest = SHA256.digest(key.span).bytes
        var isKnown = false
        for known in enrolmentKeyDigests where constantTimeEquals(known.span, digest.span) { isKnown = true }
        return isKnown
    }
}

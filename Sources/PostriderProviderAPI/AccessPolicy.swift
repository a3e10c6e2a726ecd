import PostriderCrypto
package import PostriderNotifications

/// A provider's key, ready for verification. It does not change.
package final class ProviderKey: Sendable {
    let record: ProviderKeyRecord
    let publicKey: ES256.PublicKey
    /// The topics of a topic-specific key; nil for every topic of its team.
    let topics: Set<Topic>?
    /// The one other key whose tokens may be used on the same connection.
    let related: String?

    /// The `kid` of its tokens.
    var identifier: String { record.identifier }
    /// The `iss` of its tokens.
    var team: String { record.team }
    /// The environment of the key; nil for both.
    var environment: Environment? { record.environment }
    /// Whether it is for certain topics only.
    var isTopicSpecific: Bool { topics != nil }
    /// Whether it was revoked or has ended: its tokens are recognised and refused.
    func isOver(at now: Moment) -> Bool { record.isOver(at: now) }

    /// A key from its record. `related` is its related key, which either of the two records may name.
    init(_ record: ProviderKeyRecord, related: String?) throws(CryptoError) {
        self.record = record
        publicKey = try ES256.PublicKey(pem: record.publicKey)
        topics = record.topics.map(Set.init)
        self.related = related
    }
}

/// Which providers may push to which topics, and which devices may enrol. It is an immutable snapshot of the registry
/// that every shard has; a change by the operator replaces it as a whole.
package final class AccessPolicy: Sendable {
    /// Grows with every change: whatever was derived from an older policy has to be derived again.
    package let generation: UInt64
    /// Keys by their identifier.
    let providerKeys: [String: ProviderKey]
    /// The keys that have an end, the earliest first.
    package var endingKeys: [ProviderKeyRecord] {
        providerKeys.values.map(\.record).filter { $0.endsAt != nil && $0.revokedAt == nil }
            .sorted { ($0.endsAt ?? .last, $0.identifier) < ($1.endsAt ?? .last, $1.identifier) }
    }
    /// The team of each topic.
    let topics: [Topic: String]
    /// The topics that may have channels.
    package let broadcastTopics: Set<Topic>
    /// The enrolment keys. How often they were used is as of the policy.
    package let enrolmentKeys: [EnrolmentKeyRecord]
    /// The tokens of plain sends.
    let sendTokens: [SendTokenRecord]

    /// A policy of these records. A key that cannot be parsed is left out and logged. It was checked when it was added,
    /// so that happens only after the database was edited by hand.
    package init(
        generation: UInt64,
        providerKeys: [ProviderKeyRecord],
        topics: [TopicRecord],
        enrolmentKeys: [EnrolmentKeyRecord],
        sendTokens: [SendTokenRecord] = [],
        log: Log
    ) {
        self.generation = generation
        // A relation holds both ways, whichever of the two keys names it.
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
        self.enrolmentKeys = enrolmentKeys
        self.sendTokens = sendTokens
    }

    /// The team whose providers may push to a topic. A topic with the suffix of a push type belongs to the team of its
    /// app, without having been added itself.
    package func team(of topic: Topic) -> String? {
        topics[topic] ?? topics[topic.bundle]
    }

    /// The record of an enrolment key; nil if no device may enrol with it. Every digest is compared, each in constant
    /// time.
    package func enrolmentKey(of key: [UInt8]) -> EnrolmentKeyRecord? {
        Self.record(among: enrolmentKeys, of: SHA256.digest(key.span).bytes) { $0.digest }
    }

    /// The record with a digest. Every record is compared, each in constant time.
    static func record<Record>(
        among records: [Record], of digest: [UInt8], _ digestOf: (Record) -> [UInt8]
    ) -> Record? {
        var record: Record?
        for known in records where constantTimeEquals(digestOf(known).span, digest.span) { record = known }
        return record
    }
}

/// The record of an enrolled device.
public struct DeviceRecord: Hashable, Sendable {
    /// The identity of the device.
    public let identity: DeviceIdentity
    /// SHA-256 of the device secret. The relay does not keep the secret.
    public let secretDigest: [UInt8]
    /// The name that the device gave when it enrolled, for the operator.
    public let name: String
    /// When it enrolled.
    public let enrolledAt: Moment
    /// When it was last seen connected. This is recorded once a day (``Limits/sightingMilliseconds``).
    public var seenAt: Moment

    /// Creates a record from its parts. A device that enrols counts as seen at that time.
    public init(
        identity: DeviceIdentity, secretDigest: [UInt8], name: String, enrolledAt: Moment,
        seenAt: Moment? = nil
    ) {
        self.identity = identity
        self.secretDigest = secretDigest
        self.name = name
        self.enrolledAt = enrolledAt
        self.seenAt = seenAt ?? enrolledAt
    }
}

/// An app's registration on a device. It stays in the registry after it has ended, so that its token gets 410 with
/// the time.
public struct RegistrationRecord: Hashable, Sendable {
    /// The device.
    public let device: DeviceIdentity
    /// The number that is part of the device token.
    public let number: RegistrationNumber
    /// The topic of the app.
    public let topic: Topic
    /// When it was made.
    public let registeredAt: Moment
    /// When the registration ended; nil while the token is valid.
    public let unregisteredAt: Moment?

    /// Creates a record from its parts.
    public init(
        device: DeviceIdentity,
        number: RegistrationNumber,
        topic: Topic,
        registeredAt: Moment,
        unregisteredAt: Moment?
    ) {
        self.device = device
        self.number = number
        self.topic = topic
        self.registeredAt = registeredAt
        self.unregisteredAt = unregisteredAt
    }
}

/// A provider's public key, which verifies its tokens, and what these tokens permit (Apple, "Establishing a
/// token-based connection to APNs").
public struct ProviderKeyRecord: Hashable, Sendable {
    /// The key identifier: `kid` of its tokens.
    public let identifier: String
    /// The team that owns it: `iss` of its tokens.
    public let team: String
    /// The P-256 public key in PEM.
    public let publicKey: String
    /// When it was added.
    public let addedAt: Moment
    /// The environment of the key; nil for a legacy key, which is valid in both.
    public let environment: Environment?
    /// The topics of a topic-specific key; nil for a team-scoped key, which is valid for every topic of its team.
    public let topics: [Topic]?
    /// The topic-specific key whose tokens may share a connection with this key's; nil for none.
    public let relatedKey: String?
    /// When it was revoked; nil while it is valid. Tokens of a revoked key are refused.
    public let revokedAt: Moment?
    /// When it ends, and its tokens are refused from then on; nil if it has no end.
    public let endsAt: Moment?

    /// Creates a record from its parts; by default a legacy key of the whole team.
    public init(
        identifier: String,
        team: String,
        publicKey: String,
        addedAt: Moment,
        environment: Environment? = nil,
        topics: [Topic]? = nil,
        relatedKey: String? = nil,
        revokedAt: Moment? = nil,
        endsAt: Moment? = nil
    ) {
        self.identifier = identifier
        self.team = team
        self.publicKey = publicKey
        self.addedAt = addedAt
        self.environment = environment
        self.topics = topics
        self.relatedKey = relatedKey
        self.revokedAt = revokedAt
        self.endsAt = endsAt
    }

    /// Whether its tokens are refused at this moment, because it was revoked or has ended.
    public func isOver(at now: Moment) -> Bool {
        if let endsAt, endsAt <= now { return true }
        return revokedAt != nil
    }

    /// The same key, revoked at this moment. A key that was revoked before keeps the earlier moment.
    public func revoked(at moment: Moment) -> ProviderKeyRecord {
        ProviderKeyRecord(
            identifier: identifier, team: team, publicKey: publicKey, addedAt: addedAt,
            environment: environment, topics: topics, relatedKey: relatedKey,
            revokedAt: revokedAt ?? moment, endsAt: endsAt)
    }
}

/// A topic and the team whose keys may push to it.
public struct TopicRecord: Hashable, Sendable {
    /// The topic.
    public let topic: Topic
    /// The team.
    public let team: String
    /// Whether the app may have channels and send broadcasts.
    public let takesBroadcasts: Bool

    /// Creates a record from its parts.
    public init(topic: Topic, team: String, takesBroadcasts: Bool = true) {
        self.topic = topic
        self.team = team
        self.takesBroadcasts = takesBroadcasts
    }
}

/// A key with which devices enrol. The relay keeps only its digest.
public struct EnrolmentKeyRecord: Hashable, Sendable {
    /// The name that the operator gave it.
    public let name: String
    /// SHA-256 of the key's text.
    public let digest: [UInt8]
    /// When it was added.
    public let addedAt: Moment
    /// The tags that devices get when they enrol with it.
    public let tags: [DeviceTag]
    /// From when on no device may enrol with it; nil if it has no end.
    public var endsAt: Moment?
    /// How many devices may enrol with it in total; nil for any number.
    public var uses: Int?
    /// How many devices have enrolled with it.
    public var used: Int
    /// The names that devices may have, in which `*` stands for any characters; nil for any name.
    public var namePattern: String?

    /// Creates a record from its parts.
    public init(
        name: String, digest: [UInt8], addedAt: Moment, tags: [DeviceTag] = [], endsAt: Moment? = nil,
        uses: Int? = nil, used: Int = 0, namePattern: String? = nil
    ) {
        self.name = name
        self.digest = digest
        self.addedAt = addedAt
        self.tags = tags
        self.endsAt = endsAt
        self.uses = uses
        self.used = used
        self.namePattern = namePattern
    }

    /// Whether a device of this name may enrol with it.
    public func permits(name: String) -> Bool {
        guard let namePattern else { return true }
        let parts = namePattern.split(separator: "*", omittingEmptySubsequences: false)
        guard let first = parts.first, let last = parts.last, parts.count > 1 else {
            return name == namePattern
        }
        guard name.hasPrefix(first) else { return false }
        var rest = name.dropFirst(first.count)
        for part in parts.dropFirst().dropLast() where !part.isEmpty {
            guard let found = rest.firstRange(of: part) else { return false }
            rest = rest[found.upperBound...]
        }
        return rest.hasSuffix(last)
    }
}

/// Everything in the registry, as it is read at start.
public struct Registry: Hashable, Sendable {
    /// The secrets that encrypt device tokens, the newest last. The newest encrypts, and all of them decrypt.
    public var tokenSecrets: [[UInt8]] = []
    /// The enrolled devices.
    public var devices: [DeviceRecord] = []
    /// The registrations of all devices, in the order of device and number.
    public var registrations: [RegistrationRecord] = []
    /// The keys of providers.
    public var providerKeys: [ProviderKeyRecord] = []
    /// The topics.
    public var topics: [TopicRecord] = []
    /// The enrolment keys.
    public var enrolmentKeys: [EnrolmentKeyRecord] = []
    /// The channels.
    public var channels: [ChannelRecord] = []
    /// The stored broadcasts, at most one for each channel, in the order of channels.
    public var broadcasts: [Broadcast] = []
    /// The presence of devices, in the order of devices. Devices that have never connected since presence is recorded
    /// are missing.
    public var presences: [PresenceRecord] = []
    /// The last run of the relay; nil if no run with devices was recorded.
    public var lastRun: RelayRun?
    /// The subscriptions of Web Push, in the order of device and number.
    public var webSubscriptions: [WebSubscription] = []
    /// The tokens of plain sends.
    public var sendTokens: [SendTokenRecord] = []
    /// The names and tags of devices, in the order of devices. Devices with neither are missing.
    public var labels: [DeviceLabel] = []

    /// Creates an empty registry.
    public init() {}
}

/// A change of the registry. Each is idempotent: applying it twice has the effect of once.
public enum RegistryChange: Hashable, Sendable {
    /// Adds a token secret as the newest. If it exists already, it becomes the newest.
    case addTokenSecret([UInt8])
    /// Adds a device, or replaces the one with its identity.
    case putDevice(DeviceRecord)
    /// Records when a device was last seen. It is no error if the device does not exist.
    case noteSeen(DeviceIdentity, Moment)
    /// Records that a relay runs. If an earlier run was recorded, devices that were connected then count as away
    /// since the last moment of that run (``DevicePresence/after(_:)``).
    case noteRun(RelayRun)
    /// Records the presence of a device, and replaces an earlier one. If the device does not exist, it does nothing.
    case putPresence(PresenceRecord)
    /// Records the name and the tags of a device, and replaces earlier ones. If the device does not exist, it does
    /// nothing.
    case putLabel(DeviceLabel)
    /// Removes a device with its registrations and subscriptions, its presence and its label. It is no error if it does
    /// not exist.
    case removeDevice(DeviceIdentity)
    /// Adds a registration, or replaces the one with the same device and number. If the device does not exist, it
    /// does nothing, because the device was removed while its registration was under way.
    case putRegistration(RegistrationRecord)
    /// Adds a subscription of Web Push, or replaces the one with the same device and number. If the device does not
    /// exist, it does nothing, as for its registration.
    case putWebSubscription(WebSubscription)
    /// Adds a provider's key, or replaces the one with its identifier.
    case putProviderKey(ProviderKeyRecord)
    /// Removes a provider's key. It is no error if it does not exist.
    case removeProviderKey(identifier: String)
    /// Adds a topic, or gives it to another team.
    case putTopic(TopicRecord)
    /// Removes a topic. It is no error if it does not exist.
    case removeTopic(Topic)
    /// Adds an enrolment key, or replaces the one with its name.
    case putEnrolmentKey(EnrolmentKeyRecord)
    /// Removes an enrolment key. It is no error if it does not exist.
    case removeEnrolmentKey(name: String)
    /// Adds a token of plain sends, or replaces the one with its name.
    case putSendToken(SendTokenRecord)
    /// Removes a token of plain sends. It is no error if it does not exist.
    case removeSendToken(name: String)
    /// Counts a use of the enrolment key with this digest by a device that is about to be added. If the device exists,
    /// it was counted; then, and if there is no such key, it changes nothing. A key that has no uses left makes it fail
    /// with ``StoreError/Kind/usedUp``, together with all changes that are applied with it.
    case useEnrolmentKey(digest: [UInt8], by: DeviceIdentity)
    /// Adds a channel, or replaces the one with its identity.
    case putChannel(ChannelRecord)
    /// Removes a channel with its broadcast. It is no error if it does not exist.
    case removeChannel(ChannelIdentity)
    /// Stores a broadcast, and replaces its channel's earlier one. If the channel does not exist, it does nothing. A
    /// broadcast with ``Expiration/nowOrNever`` is never stored.
    case putBroadcast(Broadcast)
    /// Removes the broadcast of a channel. It is no error if it does not exist.
    case removeBroadcast(of: ChannelIdentity)
}

/// What the registry holds of one enrolled device.
public struct DeviceRecord: Hashable, Sendable {
    /// Who it is.
    public let identity: DeviceIdentity
    /// SHA-256 of the 32 random bytes that the device was given; the relay keeps no secret of a device.
    public let secretDigest: [UInt8]
    /// What the device called itself when it enrolled, for the operator's eyes.
    public let name: String
    /// When it enrolled.
    public let enrolledAt: Moment
    /// When it was last seen connected; noted once a day (``Limits/sightingMilliseconds``).
    public var seenAt: Moment

    /// A record from its parts. A device that has enrolled is seen then.
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

/// One app's registration on one device. It stays in the registry when the app is gone, so that its token is
/// answered with 410 and the moment.
public struct RegistrationRecord: Hashable, Sendable {
    /// The device.
    public let device: DeviceIdentity
    /// The number inside the device token.
    public let number: RegistrationNumber
    /// The app.
    public let topic: Topic
    /// When it was made.
    public let registeredAt: Moment
    /// When the app was unregistered; nil while its token is good.
    public let unregisteredAt: Moment?

    /// A record from its parts.
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

/// A provider's public key: what its tokens are verified with, and what they are good for ("Establishing a
/// token-based connection to APNs").
public struct ProviderKeyRecord: Hashable, Sendable {
    /// The `kid` of its tokens.
    public let identifier: String
    /// The team that owns it: the `iss` of its tokens.
    public let team: String
    /// The P-256 public key, PEM.
    public let publicKey: String
    /// When it was added.
    public let addedAt: Moment
    /// The environment that it is for; nil: a legacy key, good in both.
    public let environment: Environment?
    /// The topics of a topic-specific key; nil: a team-scoped key, for every topic of its team.
    public let topics: [Topic]?
    /// The topic-specific key whose tokens may share a connection with this one's.
    public let relatedKey: String?
    /// When it was revoked; nil while it is good. A revoked key is known and refused.
    public let revokedAt: Moment?

    /// A record from its parts; a legacy key of the whole team if nothing else is said.
    public init(
        identifier: String,
        team: String,
        publicKey: String,
        addedAt: Moment,
        environment: Environment? = nil,
        topics: [Topic]? = nil,
        relatedKey: String? = nil,
        revokedAt: Moment? = nil
    ) {
        self.identifier = identifier
        self.team = team
        self.publicKey = publicKey
        self.addedAt = addedAt
        self.environment = environment
        self.topics = topics
        self.relatedKey = relatedKey
        self.revokedAt = revokedAt
    }

    /// The same key, revoked at this moment. One that was revoked before stays revoked since then.
    public func revoked(at moment: Moment) -> ProviderKeyRecord {
        ProviderKeyRecord(
            identifier: identifier, team: team, publicKey: publicKey, addedAt: addedAt,
            environment: environment, topics: topics, relatedKey: relatedKey,
            revokedAt: revokedAt ?? moment)
    }
}

/// A topic and the team whose keys may push to it.
public struct TopicRecord: Hashable, Sendable {
    /// The topic.
    public let topic: Topic
    /// The team.
    public let team: String
    /// Whether the app may have channels and broadcast to them.
    public let takesBroadcasts: Bool

    /// A record from its parts.
    public init(topic: Topic, team: String, takesBroadcasts: Bool = true) {
        self.topic = topic
        self.team = team
        self.takesBroadcasts = takesBroadcasts
    }
}

/// A key with which devices enrol; the relay keeps its digest only.
public struct EnrolmentKeyRecord: Hashable, Sendable {
    /// What the operator calls it.
    public let name: String
    /// SHA-256 of the key's text.
    public let digest: [UInt8]
    /// When it was added.
    public let addedAt: Moment
    /// The tags of the devices that enrol with it.
    public let tags: [DeviceTag]

    /// A record from its parts.
    public init(name: String, digest: [UInt8], addedAt: Moment, tags: [DeviceTag] = []) {
        self.name = name
        self.digest = digest
        self.addedAt = addedAt
        self.tags = tags
    }
}

/// Everything in the registry, as it is read at start-up.
public struct Registry: Hashable, Sendable {
    /// The secrets that seal device tokens, newest last; the newest seals, all of them open.
    public var tokenSecrets: [[UInt8]] = []
    /// Enrolled devices.
    public var devices: [DeviceRecord] = []
    /// Registrations of all devices, in order of device and number.
    public var registrations: [RegistrationRecord] = []
    /// Providers' keys.
    public var providerKeys: [ProviderKeyRecord] = []
    /// Topics.
    public var topics: [TopicRecord] = []
    /// Enrolment keys.
    public var enrolmentKeys: [EnrolmentKeyRecord] = []
    /// Channels.
    public var channels: [ChannelRecord] = []
    /// The stored broadcasts, at most one for each channel, in the order of their channels.
    public var broadcasts: [Broadcast] = []
    /// The presence of devices, in order of devices; those that have not connected since it is noted have none.
    public var presences: [PresenceRecord] = []
    /// The last run of the relay that had devices.
    public var lastRun: RelayRun?
    /// Names and tags of devices, in order of devices; those that have neither yet are not among them.
    public var labels: [DeviceLabel] = []

    /// An empty registry.
    public init() {}
}

/// One change to the registry. Each is idempotent: applied twice it leaves what it leaves when applied once.
public enum RegistryChange: Hashable, Sendable {
    /// Adds a token secret as the newest; one that is there already becomes the newest.
    case addTokenSecret([UInt8])
    /// Adds a device, or replaces the one of that identity.
    case putDevice(DeviceRecord)
    /// Notes when a device was last seen; one that is not there is no error.
    case noteSeen(DeviceIdentity, Moment)
    /// Notes that a relay runs. Where another run was noted before, the devices that were connected then are away since
    /// its last moment (``DevicePresence/after(_:)``).
    case noteRun(RelayRun)
    /// Notes the presence of a device, in place of an earlier one. Where there is no such device nothing is noted, and
    /// that is no error.
    case putPresence(PresenceRecord)
    /// Notes the name and the tags of a device, in place of earlier ones. Where there is no such device nothing is
    /// noted, and that is no error.
    case putLabel(DeviceLabel)
    /// Removes a device with its registrations, its presence and its label; one that is not there is no error.
    case removeDevice(DeviceIdentity)
    /// Adds a registration, or replaces the one of that device and number. Where there is no such device nothing is
    /// added, and that is no error: it was removed while its registration was under way.
    case putRegistration(RegistrationRecord)
    /// Adds a provider's key, or replaces the one of that identifier.
    case putProviderKey(ProviderKeyRecord)
    /// Removes a provider's key; one that is not there is no error.
    case removeProviderKey(identifier: String)
    /// Adds a topic, or gives it to another team.
    case putTopic(TopicRecord)
    /// Removes a topic; one that is not there is no error.
    case removeTopic(Topic)
    /// Adds an enrolment key, or replaces the one of that name.
    case putEnrolmentKey(EnrolmentKeyRecord)
    /// Removes an enrolment key; one that is not there is no error.
    case removeEnrolmentKey(name: String)
    /// Adds a channel, or replaces the one of that identity.
    case putChannel(ChannelRecord)
    /// Removes a channel with its broadcast; one that is not there is no error.
    case removeChannel(ChannelIdentity)
    /// Keeps a broadcast in place of its channel's earlier one. Where there is no such channel nothing is kept, and
    /// that is no error. One with ``Expiration/nowOrNever`` is never kept.
    case putBroadcast(Broadcast)
    /// Removes the broadcast of a channel; one that is not there is no error.
    case removeBroadcast(of: ChannelIdentity)
}

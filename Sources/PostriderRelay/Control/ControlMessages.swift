public import PostriderNotifications

/// What is said on the control socket, as JSON (`docs/reference/control.md`). Times are milliseconds since the epoch.
public enum Control {
    /// `GET /v1/status`.
    public struct Status: Codable, Sendable {
        /// Where every accepted notification is.
        public struct Counters: Codable, Sendable {
            /// Taken on by a device's home.
            public var accepted: UInt64
            /// Acknowledged by the device.
            public var delivered: UInt64
            /// Waiting for the device.
            public var pending: UInt64
            /// Given up because their time was over.
            public var expired: UInt64
            /// Superseded by a newer one in the same slot, or sent twice.
            public var replaced: UInt64
            /// Now-or-never ones whose device was not there.
            public var discarded: UInt64
            /// By cause.
            public var dropped: [String: UInt64]
            /// accepted = delivered + pending + expired + replaced + discarded + dropped, and as many wait as are
            /// pending.
            public var isBalanced: Bool
        }

        /// What became of broadcasts; summed over shards.
        public struct Broadcasts: Codable, Sendable {
            /// Accepted from providers.
            public var accepted: UInt64
            /// Written to devices: one for each device.
            public var sent: UInt64
            /// Not written to a device, because too much was waiting to be sent to it.
            public var dropped: UInt64
        }

        /// Event loops.
        public var shards: Int
        /// Open connections of providers.
        public var providerConnections: Int
        /// Open connections of devices.
        public var deviceConnections: Int
        /// Enrolled devices.
        public var devices: Int
        /// Channels of all apps.
        public var channels: Int
        /// Channels that connected devices are subscribed to: one for each device and channel.
        public var subscriptions: Int
        /// What became of broadcasts.
        public var broadcasts: Broadcasts
        /// Devices that found many others returning and were told when to come back.
        public var deferredDevices: UInt64
        /// Connections that were closed as soon as they were accepted.
        public var refusedConnections: UInt64
        /// Where every accepted notification is.
        public var counters: Counters
        /// The same for each shard.
        public var countersOfShards: [Counters]
        /// What the trace is missing; nil where there is none.
        public var trace: Trace?

        /// What is missing in the trace since the relay was started.
        public struct Trace: Codable, Sendable {
            /// Records that are lost because they came too fast, or the disk failed.
            public var lost: UInt64
            /// Refusals that were not written down because there were too many in their second.
            public var untoldRefusals: UInt64
        }
    }

    /// One of `GET /v1/keys`.
    public struct ProviderKey: Codable, Sendable {
        /// The `kid`.
        public var identifier: String
        /// The team.
        public var team: String
        /// When it was added.
        public var addedAt: Int64
        /// The environment that it is for; nil: both.
        public var environment: Environment?
        /// The topics of a topic-specific key; nil: every topic of its team.
        public var topics: [String]?
        /// The key whose tokens may share a connection with this one's.
        public var relatedKey: String?
        /// When it was revoked; nil while it is good.
        public var revokedAt: Int64?
    }

    /// `PUT /v1/keys/<identifier>`.
    public struct ProviderKeyAddition: Codable, Sendable {
        /// The team.
        public var team: String
        /// P-256, PEM.
        public var publicKey: String
        /// The environment that it is for; nil: both.
        public var environment: Environment?
        /// The topics of a topic-specific key; nil: every topic of its team.
        public var topics: [String]?
        /// The key whose tokens may share a connection with this one's.
        public var relatedKey: String?
        /// Whether another key of that identifier, or another team's, gives way to this one; nil: no.
        public var replaces: Bool?

        /// An addition from its parts.
        public init(
            team: String, publicKey: String, environment: Environment? = nil, topics: [String]? = nil,
            relatedKey: String? = nil, replaces: Bool? = nil
        ) {
            self.team = team
            self.publicKey = publicKey
            self.environment = environment
            self.topics = topics
            self.relatedKey = relatedKey
            self.replaces = replaces
        }
    }

    /// One of `GET /v1/topics`.
    public struct Topic: Codable, Sendable {
        /// The topic.
        public var topic: String
        /// The team.
        public var team: String
        /// Whether the app may have channels.
        public var takesBroadcasts: Bool
    }

    /// `PUT /v1/topics/<topic>`.
    public struct TopicAddition: Codable, Sendable {
        /// The team.
        public var team: String
        /// Whether the app may have channels; nil: yes. Where it may not any more its channels are removed.
        public var takesBroadcasts: Bool?

        /// An addition from its parts.
        public init(team: String, takesBroadcasts: Bool = true) {
            self.team = team
            self.takesBroadcasts = takesBroadcasts
        }
    }

    /// One of `GET /v1/enrolment-keys`.
    public struct EnrolmentKey: Codable, Sendable {
        /// Its name.
        public var name: String
        /// When it was added.
        public var addedAt: Int64
    }

    /// The answer to `PUT /v1/enrolment-keys/<name>`: the only time that the key is shown.
    public struct NewEnrolmentKey: Codable, Sendable {
        /// Its name.
        public var name: String
        /// The key.
        public var key: String
    }

    /// `PUT /v1/backup`.
    public struct Backup: Codable, Sendable {
        /// The directory to make on the relay's machine; absolute.
        public var directory: String

        /// A backup into this directory.
        public init(directory: String) { self.directory = directory }
    }

    /// One of `GET /v1/devices`.
    public struct Device: Codable, Sendable {
        /// One app on a device.
        public struct Registration: Codable, Sendable {
            /// The app.
            public var topic: String
            /// Its device token, 64 hexadecimal digits.
            public var token: String
            /// Where the token is good.
            public var environment: Environment
        }

        /// 24 hexadecimal digits.
        public var identity: String
        /// Its name.
        public var name: String
        /// When it enrolled.
        public var enrolledAt: Int64
        /// Whether its connection is open.
        public var isConnected: Bool
        /// Notifications that wait for it.
        public var pending: Int
        /// The addresses of two machines that use its identity, where the relay has noticed that.
        public var duplicates: [String]?
        /// When they met last.
        public var duplicatedAt: Int64?
        /// Its good registrations.
        public var registrations: [Registration]
    }

    /// The answer to anything that was not done: one sentence.
    public struct Refusal: Codable, Sendable {
        /// What was wrong, where, what to do.
        public var sentence: String
    }
}

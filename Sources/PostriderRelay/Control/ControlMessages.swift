public import PostriderNotifications
import PostriderProviderAPI

/// The JSON of the control socket (`docs/reference/control.md`). Times are milliseconds since the epoch.
public enum Control {
    /// `GET /v1/status`.
    public struct Status: Codable, Sendable {
        /// The counters of all accepted notifications, by result.
        public struct Counters: Codable, Sendable {
            /// Accepted by a device's home.
            public var accepted: UInt64
            /// Acknowledged by the device.
            public var delivered: UInt64
            /// Waiting for the device.
            public var pending: UInt64
            /// Dropped because they expired.
            public var expired: UInt64
            /// Replaced by a newer one in the same slot, or sent twice.
            public var replaced: UInt64
            /// Not to be stored, and the device was not connected.
            public var discarded: UInt64
            /// Pending when another node of the cluster took their device over; nil if there were none.
            public var moved: UInt64?
            /// Dropped, by cause.
            public var dropped: [String: UInt64]
            /// Whether accepted = delivered + pending + expired + replaced + discarded + dropped + moved, and as
            /// many notifications wait as `pending` says.
            public var isBalanced: Bool
        }

        /// The counters of broadcasts, as a sum over the shards.
        public struct Broadcasts: Codable, Sendable {
            /// Accepted from providers.
            public var accepted: UInt64
            /// Written to devices, counted once for each device.
            public var sent: UInt64
            /// Not written to a device because too much waited to be sent to it, counted once for each device.
            public var dropped: UInt64
        }

        /// The number of event loops.
        public var shards: Int
        /// Open connections of providers.
        public var providerConnections: Int
        /// Open connections of devices.
        public var deviceConnections: Int
        /// Enrolled devices.
        public var devices: Int
        /// The number of channels of all apps.
        public var channels: Int
        /// Subscriptions of connected devices to channels.
        public var subscriptions: Int
        /// The counters of broadcasts.
        public var broadcasts: Broadcasts
        /// Devices that returned together with many others and were told to come back later.
        public var deferredDevices: UInt64
        /// Connections that were closed as soon as they were accepted.
        public var refusedConnections: UInt64
        /// The counters of all accepted notifications.
        public var counters: Counters
        /// The counters of the notifications that each shard has accepted.
        public var countersOfShards: [Counters]
        /// What is missing in the trace; nil if there is no trace.
        public var trace: Trace?
        /// The nodes of the cluster by name, of which all other members are the sums; nil without a cluster.
        public var nodes: [Node]?

        /// One node of a cluster.
        public struct Node: Codable, Sendable {
            /// Its name.
            public var name: String
            /// Its own status; nil if it has not answered.
            public var status: Status?
        }

        /// What is missing in the trace since the relay started.
        public struct Trace: Codable, Sendable {
            /// Records that were lost because there were too many, or the disk failed.
            public var lost: UInt64
            /// Refusals that were not recorded because there were too many in one second.
            public var untoldRefusals: UInt64
        }
    }

    /// An element of `GET /v1/keys`.
    public struct ProviderKey: Codable, Sendable {
        /// The `kid`.
        public var identifier: String
        /// The team.
        public var team: String
        /// The time at which the key was added.
        public var addedAt: Int64
        /// The environment of the key; nil for both.
        public var environment: Environment?
        /// The topics of a topic-specific key; nil for every topic of its team.
        public var topics: [String]?
        /// The key whose tokens may share a connection with this one's.
        public var relatedKey: String?
        /// When it was revoked; nil if it was not.
        public var revokedAt: Int64?
        /// When it ends; nil if it has no end.
        public var endsAt: Int64?
    }

    /// `PUT /v1/keys/<identifier>`.
    public struct ProviderKeyAddition: Codable, Sendable {
        /// The team.
        public var team: String
        /// P-256, PEM.
        public var publicKey: String
        /// The environment of the key; nil for both.
        public var environment: Environment?
        /// The topics of a topic-specific key; nil for every topic of its team.
        public var topics: [String]?
        /// The key whose tokens may share a connection with this one's.
        public var relatedKey: String?
        /// Whether it may replace another key of this identifier, or one of another team; nil for no.
        public var replaces: Bool?
        /// When it ends, in milliseconds since 1970; nil for no end.
        public var endsAt: Int64?

        /// An addition from its parts.
        public init(
            team: String, publicKey: String, environment: Environment? = nil, topics: [String]? = nil,
            relatedKey: String? = nil, replaces: Bool? = nil, endsAt: Int64? = nil
        ) {
            self.team = team
            self.publicKey = publicKey
            self.environment = environment
            self.topics = topics
            self.relatedKey = relatedKey
            self.replaces = replaces
            self.endsAt = endsAt
        }
    }

    /// An element of `GET /v1/topics`.
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
        /// Whether the app may have channels; nil for yes. If it no longer may, its channels are removed.
        public var takesBroadcasts: Bool?

        /// An addition from its parts.
        public init(team: String, takesBroadcasts: Bool = true) {
            self.team = team
            self.takesBroadcasts = takesBroadcasts
        }
    }

    /// An element of `GET /v1/enrolment-keys`.
    public struct EnrolmentKey: Codable, Sendable {
        /// Its name.
        public var name: String
        /// The time at which the key was added.
        public var addedAt: Int64
        /// The tags of the devices that enrol with it; nil: none.
        public var tags: [String]?
        /// From when on no device may enrol with it, in milliseconds since 1970; nil if it has no end.
        public var endsAt: Int64?
        /// How many devices may enrol with it; nil for any number.
        public var uses: Int?
        /// How many devices have enrolled with it; nil from a relay that does not count.
        public var used: Int?
        /// The names that devices may have; nil for any name.
        public var namePattern: String?
    }

    /// The answer to `PUT /v1/enrolment-keys/<name>`. The key is never shown again.
    public struct NewEnrolmentKey: Codable, Sendable {
        /// Its name.
        public var name: String
        /// The key.
        public var key: String
    }

    /// `PUT /v1/backup`.
    public struct Backup: Codable, Sendable {
        /// The absolute path of the directory to create on the relay's machine.
        public var directory: String

        /// A backup into this directory.
        public init(directory: String) { self.directory = directory }
    }

    /// The answer if a request was refused: one sentence.
    public struct Refusal: Codable, Sendable {
        /// What is wrong, where, and what to do.
        public var sentence: String
    }
}

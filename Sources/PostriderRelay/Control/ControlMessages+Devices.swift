public import PostriderNotifications

extension Control {
    /// An element of `GET /v1/devices`.
    public struct Device: Codable, Sendable {
        /// One app on a device.
        public struct Registration: Codable, Sendable {
            /// The topic of the app.
            public var topic: String
            /// Its device token, 64 hexadecimal digits.
            public var token: String
            /// The environment of the token.
            public var environment: Environment
        }

        /// 24 hexadecimal digits.
        public var identity: String
        /// Its name.
        public var name: String
        /// What it calls itself, where that is not its name.
        public var callsItself: String?
        /// Its tags.
        public var tags: [String]
        /// The device that calls itself likewise and took its place, as it seems: this one has been away since before
        /// that one enrolled.
        public var successor: String?
        /// When it enrolled.
        public var enrolledAt: Int64
        /// Whether its connection is open.
        public var isConnected: Bool
        /// When it was connected, or when it left.
        public var since: Int64
        /// The address of its last connection, without the port; nil: not known.
        public var address: String?
        /// Program and version of its agent; nil: not known.
        public var agent: String?
        /// How its last connection that is over ended, as ``PostriderNotifications/DevicePresence/Ending`` spells it;
        /// nil: not known.
        public var ending: String?
        /// Whether it asks for groups of notifications to save power; nil: it is away.
        public var savesPower: Bool?
        /// How many notifications wait for it.
        public var pending: Int
        /// The addresses of two machines that use its identity, if the relay has noticed that.
        public var duplicates: [String]?
        /// When both were last seen.
        public var duplicatedAt: Int64?
        /// Its valid registrations.
        public var registrations: [Registration]
    }

    /// One event of `GET /v1/devices/events`.
    public struct DeviceEvent: Codable, Sendable, Equatable {
        /// What can happen.
        public enum What: String, Codable, Sendable, CaseIterable {
            /// A device has connected.
            case connected
            /// It has left.
            case away
            /// It has enrolled.
            case enrolled
            /// The operator has removed it.
            case removed
        }

        /// What has happened.
        public var what: What
        /// When.
        public var at: Int64
        /// The device: 24 hexadecimal digits.
        public var identity: String
        /// Its name.
        public var name: String
        /// The address of its connection; empty: not known.
        public var address: String
        /// Program and version of its agent; empty: not known.
        public var agent: String
        /// Of `away`: how its connection ended, as in ``Device``.
        public var ending: String?
        /// Its tags; nil: it has none.
        public var tags: [String]?
    }

    /// `PATCH /v1/devices/<device>`.
    public struct DeviceChange: Codable, Sendable {
        /// Its new name; nil: it keeps its own.
        public var name: String?
        /// Tags that it is to have as well.
        public var addTags: [String]?
        /// Tags that it is not to have any more.
        public var removeTags: [String]?

        /// A change from its parts.
        public init(name: String? = nil, addTags: [String]? = nil, removeTags: [String]? = nil) {
            self.name = name
            self.addTags = addTags
            self.removeTags = removeTags
        }
    }

    /// The answer to it.
    public struct LabelledDevice: Codable, Sendable {
        /// 24 hexadecimal digits.
        public var identity: String
        /// Its name.
        public var name: String
        /// Its tags.
        public var tags: [String]
    }

    /// The answer to `DELETE /v1/devices/<device>`.
    public struct RemovedDevice: Codable, Sendable {
        /// 24 hexadecimal digits.
        public var identity: String
        /// The device that has its name from now on: one that calls itself so.
        public var heir: LabelledDevice?
    }

    /// `PUT /v1/enrolment-keys/<name>`; without a body: no tags.
    public struct EnrolmentKeyAddition: Codable, Sendable {
        /// The tags of the devices that enrol with it.
        public var tags: [String]?

        /// An addition from its parts.
        public init(tags: [String]? = nil) { self.tags = tags }
    }
}

import PostriderDeviceQueue
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
        /// The device's name.
        public var name: String
        /// The name by which the device calls itself; nil if that is its name.
        public var callsItself: String?
        /// The device's tags.
        public var tags: [String]
        /// The device that has probably taken this one's place: it calls itself the same, and has enrolled since this
        /// one was last seen.
        public var successor: String?
        /// The time of the enrolment.
        public var enrolledAt: Int64
        /// Whether its connection is open.
        public var isConnected: Bool
        /// The time at which the device connected or left.
        public var since: Int64
        /// The address of its last connection, without the port; nil if unknown.
        public var address: String?
        /// Program and version of its agent; nil if unknown.
        public var agent: String?
        /// How its last finished connection ended, in the spelling of
        /// ``PostriderNotifications/DevicePresence/Ending``; nil if unknown.
        public var ending: String?
        /// Whether it asks for groups of notifications to save power; nil if it is away.
        public var savesPower: Bool?
        /// The charge of its battery in percent, as it has said last since the relay's start; nil if it has not.
        public var batteryPercent: Int?
        /// The number of notifications that wait for it.
        public var pending: Int
        /// The addresses of two machines that use its identity; nil if the relay has not noticed two.
        public var duplicates: [String]?
        /// The time at which both were last seen.
        public var duplicatedAt: Int64?
        /// Its valid registrations.
        public var registrations: [Registration]
    }

    /// One event of `GET /v1/devices/events`.
    public struct DeviceEvent: Codable, Sendable, Equatable {
        /// The kinds of events.
        public enum What: String, Codable, Sendable, CaseIterable {
            /// A device has connected.
            case connected
            /// A device has left.
            case away
            /// A device has enrolled.
            case enrolled
            /// The operator has removed a device.
            case removed
        }

        /// The kind of the event.
        public var what: What
        /// The time of the event.
        public var at: Int64
        /// The device: 24 hexadecimal digits.
        public var identity: String
        /// The device's name.
        public var name: String
        /// The address of its connection; empty if unknown.
        public var address: String
        /// Program and version of its agent; empty if unknown.
        public var agent: String
        /// For `away`: how its connection ended, as in ``Device``.
        public var ending: String?
        /// The device's tags; nil if it has none.
        public var tags: [String]?
        /// The node of the cluster that reports it; nil without a cluster.
        public var node: String?
    }

    /// What a program that follows the events of a cluster's devices is told of another node, among these events.
    public struct NodeEvent: Codable, Sendable {
        /// The kinds of events.
        public enum What: String, CaseIterable, Codable, Sendable {
            /// The node does not answer: what happens to its devices is not shown, or comes later.
            case nodeMissing
            /// The node answers again.
            case nodeBack
            /// The node has joined the cluster.
            case nodeJoined
            /// The node is not in the cluster any more: others get its devices.
            case nodeLeft
            /// Events of the node's devices are lost, because the node was restarted or too many came.
            case eventsLost
        }

        /// The kind of the event.
        public var what: What
        /// The time of the event.
        public var at: Int64
        /// The name of the node.
        public var node: String
    }

    /// `PATCH /v1/devices/<device>`.
    public struct DeviceChange: Codable, Sendable {
        /// The new name; nil to keep the name.
        public var name: String?
        /// Tags to add.
        public var addTags: [String]?
        /// Tags to remove.
        public var removeTags: [String]?

        /// Creates a change from its parts.
        public init(name: String? = nil, addTags: [String]? = nil, removeTags: [String]? = nil) {
            self.name = name
            self.addTags = addTags
            self.removeTags = removeTags
        }
    }

    /// The answer to a ``DeviceChange``.
    public struct LabelledDevice: Codable, Sendable {
        /// 24 hexadecimal digits.
        public var identity: String
        /// The device's name.
        public var name: String
        /// The device's tags.
        public var tags: [String]
    }

    /// The answer to `DELETE /v1/devices/<device>`.
    public struct RemovedDevice: Codable, Sendable {
        /// 24 hexadecimal digits.
        public var identity: String
        /// The device that has the removed device's name from now on, because it calls itself by it; nil if there is
        /// none.
        public var heir: LabelledDevice?
    }

    /// `PUT /v1/enrolment-keys/<name>`; without a body the key has no tags.
    public struct EnrolmentKeyAddition: Codable, Sendable {
        /// The tags of the devices that enrol with the key.
        public var tags: [String]?
        /// From when on no device may enrol with it, in milliseconds since 1970; nil if it has no end.
        public var endsAt: Int64?
        /// How many devices may enrol with it; nil for any number.
        public var uses: Int?
        /// The names that devices may have, with `*` for any characters; nil for any name.
        public var namePattern: String?

        /// Creates an addition from its parts.
        public init(
            tags: [String]? = nil, endsAt: Int64? = nil, uses: Int? = nil, namePattern: String? = nil
        ) {
            (self.tags, self.endsAt, self.uses, self.namePattern) = (tags, endsAt, uses, namePattern)
        }
    }
}

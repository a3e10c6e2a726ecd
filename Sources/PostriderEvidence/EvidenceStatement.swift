import FoundationEssentials

/// What a relay states about pushes, in the JSON document of an ``Evidence``. Times are texts of RFC 3339 with
/// milliseconds, in UTC.
public struct EvidenceStatement: Codable, Equatable, Sendable {
    /// The ``format`` of this version.
    public static let format = "postrider-evidence-1"

    /// Names the fields and their meaning.
    public var format = Self.format
    /// The relay that states it.
    public var relay: Relay
    /// When the relay has signed it, by its clock.
    public var signedAt: String
    /// The pushes with the `apns-id` that was asked for, in the order in which they were accepted.
    public var pushes: [Push]
    /// Sentences about what the relay does not know.
    public var remarks: [String]

    /// A statement from its parts.
    public init(relay: Relay, signedAt: String, pushes: [Push], remarks: [String]) {
        self.relay = relay
        self.signedAt = signedAt
        self.pushes = pushes
        self.remarks = remarks
    }

    /// The relay that states it.
    public struct Relay: Codable, Equatable, Sendable {
        /// The host name of its machine.
        public var name: String

        /// A relay of this name.
        public init(name: String) { self.name = name }
    }

    /// A push.
    public struct Push: Codable, Equatable, Sendable {
        /// `apns-id`.
        public var apnsID: String
        /// When the relay has accepted it.
        public var acceptedAt: String
        /// Who has pushed: `key` and the identifier of the provider's key, `certificate`, or `unknown`.
        public var provider: String
        /// `apns-topic`.
        public var topic: String
        /// `production` or `development`.
        public var environment: String
        /// `apns-push-type`; nil if the provider sent none.
        public var pushType: String?
        /// `apns-priority`.
        public var priority: Int
        /// When it expires; nil if it was not to be stored.
        public var expiresAt: String?
        /// The length of the payload in bytes.
        public var payloadBytes: Int
        /// SHA-256 of the payload, byte for byte as the provider sent it, in hexadecimal; nil if it was not recorded.
        public var payloadSHA256: String?
        /// The device; nil for a broadcast.
        public var device: Device?
        /// The channel that it was broadcast to.
        public var channel: String?
        /// The node of the cluster that has accepted it; nil without a cluster.
        public var node: String?
        /// What happened to it, in order.
        public var steps: [Step]

        /// A push without steps.
        public init(apnsID: String, acceptedAt: String, provider: String, topic: String, environment: String)
        {
            self.apnsID = apnsID
            self.acceptedAt = acceptedAt
            self.provider = provider
            self.topic = topic
            self.environment = environment
            (priority, payloadBytes, steps) = (10, 0, [])
        }
    }

    /// The device that a push was for.
    public struct Device: Codable, Equatable, Sendable {
        /// Its identity: 24 hexadecimal digits.
        public var identity: String
        /// Its name when the statement was signed; nil if the relay does not know the device any more.
        public var name: String?
        /// SHA-256 of the text of the device token, 64 hexadecimal digits in lower case. The token itself is not told:
        /// whoever has it can push.
        public var tokenSHA256: String

        /// A device from its parts.
        public init(identity: String, name: String?, tokenSHA256: String) {
            self.identity = identity
            self.name = name
            self.tokenSHA256 = tokenSHA256
        }
    }

    /// One thing that happened to a push.
    public struct Step: Codable, Equatable, Sendable {
        /// When the relay has seen it or was told of it, by its clock.
        public var at: String
        /// The name of the event, as in `postrider trace`.
        public var what: String
        /// What happened, as a sentence.
        public var meaning: String
        /// `relay` if the relay has seen it, `device` if the device has reported it.
        public var saidBy: String
        /// When it happened by the device's clock.
        public var deviceAt: String?
        /// The device's own text about it.
        public var text: String?
        /// The node of the cluster that has seen it or was told of it, if several nodes know of the push.
        public var node: String?

        /// A step from its parts.
        public init(
            at: String, what: String, meaning: String, saidBy: String, deviceAt: String? = nil,
            text: String? = nil, node: String? = nil
        ) {
            self.at = at
            self.what = what
            self.meaning = meaning
            self.saidBy = saidBy
            self.deviceAt = deviceAt
            self.text = text
            self.node = node
        }
    }

    /// A moment as RFC 3339 writes it, from milliseconds since 1970-01-01T00:00:00Z.
    public static func time(_ milliseconds: Int64) -> String {
        let fraction = ((milliseconds % 1000) + 1000) % 1000
        let whole = Date(timeIntervalSince1970: Double((milliseconds - fraction) / 1000)).formatted(.iso8601)
        return whole.dropLast() + ".\(String(1000 + fraction).dropFirst())Z"
    }
}

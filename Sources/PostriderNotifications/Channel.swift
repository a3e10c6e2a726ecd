/// The name of a channel: 16 random bytes that are issued once, written in base64 on the wire
/// (`apns-channel-id`).
public struct ChannelIdentity: Hashable, Comparable, Sendable {
    /// Bytes 0 to 7, most significant first.
    public let high: UInt64
    /// Bytes 8 to 15, most significant first.
    public let low: UInt64

    /// The number of bytes.
    public static let byteCount = 16
    /// The number of characters of the base64 form: 22 and two of padding.
    public static let textByteCount = 24

    /// An identity from its two words.
    public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// An identity from its 16 bytes, or nil when there are not exactly 16.
    public init?(bytes: [UInt8]) {
        guard bytes.count == Self.byteCount else { return nil }
        self.init(
            high: bytes[..<8].reduce(0) { $0 << 8 | UInt64($1) },
            low: bytes[8...].reduce(0) { $0 << 8 | UInt64($1) }
        )
    }

    /// An identity from its base64 form (RFC 4648 section 4) with or without padding, or nil.
    public init?(text: Span<UInt8>) {
        var digits = text
        if digits.count == Self.textByteCount {
            guard digits[22] == UInt8(ascii: "="), digits[23] == UInt8(ascii: "=") else { return nil }
            digits = digits.extracting(..<22)
        }
        guard digits.count == 22 else { return nil }
        var words = (high: UInt64(0), low: UInt64(0))
        for index in 0..<21 {
            guard let value = Self.value(digits[index]) else { return nil }
            words = (words.high << 6 | words.low >> 58, words.low << 6 | UInt64(value))
        }
        // The last character holds the two bits that are left; another spelling of them is none of ours.
        guard let last = Self.value(digits[21]), last & 0x0F == 0 else { return nil }
        self.init(high: words.high << 2 | words.low >> 62, low: words.low << 2 | UInt64(last >> 4))
    }

    /// An identity from its base64 form, or nil.
    public init?(_ text: String) {
        let bytes = Array(text.utf8)
        self.init(text: bytes.span)
    }

    /// The 16 bytes.
    public var bytes: [UInt8] {
        [high, low].flatMap { word in
            stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: word >> UInt64($0)) }
        }
    }

    /// In the order of their bytes.
    public static func < (left: Self, right: Self) -> Bool { (left.high, left.low) < (right.high, right.low) }

    private static let alphabet = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    private static func value(_ character: UInt8) -> UInt8? {
        switch character {
        case 0x41...0x5A: character - 0x41
        case 0x61...0x7A: character - 0x61 + 26
        case 0x30...0x39: character - 0x30 + 52
        case UInt8(ascii: "+"): 62
        case UInt8(ascii: "/"): 63
        default: nil
        }
    }
}

extension ChannelIdentity: CustomStringConvertible {
    /// The base64 form with its padding: 24 characters.
    public var description: String {
        var text: [UInt8] = []
        write(to: &text)
        return String(decoding: text, as: UTF8.self)
    }

    /// Appends the base64 form with its padding.
    public func write(to text: inout [UInt8]) {
        var rest = (high: high, low: low)
        for _ in 0..<22 {
            text.append(Self.alphabet[Int(rest.high >> 58)])
            rest = (rest.high << 6 | rest.low >> 58, rest.low << 6)
        }
        text.append(UInt8(ascii: "="))
        text.append(UInt8(ascii: "="))
    }
}

/// What a channel keeps for those who are not connected (`message-storage-policy`), fixed when it is created.
public enum ChannelStorage: Int, Sendable {
    /// Nothing: a broadcast reaches who is connected.
    case nothing = 0
    /// The most recent broadcast, for ``Limits/broadcastStoredHours`` or until its expiration.
    case mostRecent = 1
}

/// An app in one environment: what owns channels.
public struct ChannelOwner: Hashable, Sendable {
    /// The app, without the suffix of a push type.
    public let topic: Topic
    /// Where its providers and devices are.
    public let environment: Environment

    /// An owner from its parts.
    public init(topic: Topic, environment: Environment) {
        self.topic = topic
        self.environment = environment
    }

    /// The shard that decides about the channels of this app among `shards` of them (FNV-1a, 32 bits).
    public func home(among shards: Int) -> Int {
        precondition(shards > 0, "a relay has at least one shard")
        var hash: UInt32 = 0x811C_9DC5
        for byte in topic.text.utf8 { hash = (hash ^ UInt32(byte)) &* 0x0100_0193 }
        if environment == .development { hash = (hash ^ 1) &* 0x0100_0193 }
        return Int(hash % UInt32(shards))
    }
}

/// A channel, as the registry keeps it.
public struct ChannelRecord: Hashable, Sendable {
    /// Its name.
    public let identity: ChannelIdentity
    /// Whose it is.
    public let owner: ChannelOwner
    /// What it keeps.
    public let storage: ChannelStorage
    /// When it was created.
    public let createdAt: Moment

    /// A record from its parts.
    public init(identity: ChannelIdentity, owner: ChannelOwner, storage: ChannelStorage, createdAt: Moment) {
        self.identity = identity
        self.owner = owner
        self.storage = storage
        self.createdAt = createdAt
    }
}

/// One accepted message to all subscribers of a channel, immutable. All shards share it by reference.
public final class Broadcast: Sendable {
    /// Who it is; a device drops a second one of the same identity and topic.
    public let identity: NotificationIdentity
    /// The channel.
    public let channel: ChannelIdentity
    /// The app.
    public let topic: Topic
    /// The JSON object as the provider sent it.
    public let payload: [UInt8]
    /// `apns-priority`.
    public let priority: Priority
    /// How long it is worth keeping.
    public let expiration: Expiration
    /// `apns-push-type`.
    public let pushType: PushType
    /// When the relay admitted it.
    public let acceptedAt: Moment

    /// A broadcast from its parts.
    public init(
        identity: NotificationIdentity,
        channel: ChannelIdentity,
        topic: Topic,
        payload: [UInt8],
        priority: Priority,
        expiration: Expiration,
        pushType: PushType,
        acceptedAt: Moment
    ) {
        self.identity = identity
        self.channel = channel
        self.topic = topic
        self.payload = payload
        self.priority = priority
        self.expiration = expiration
        self.pushType = pushType
        self.acceptedAt = acceptedAt
    }

    /// Whether it is worth nothing any more. One that was now or never never was kept.
    public func hasExpired(at now: Moment) -> Bool {
        switch expiration {
        case .nowOrNever: true
        case .at(let moment): moment <= now
        }
    }
}

extension Broadcast: Hashable {
    /// Whether everything about them is the same.
    public static func == (left: Broadcast, right: Broadcast) -> Bool {
        left.identity == right.identity && left.channel == right.channel && left.topic == right.topic
            && left.payload == right.payload && left.priority == right.priority
            && left.expiration == right.expiration && left.pushType == right.pushType
            && left.acceptedAt == right.acceptedAt
    }

    /// Its identity and its channel are enough to tell broadcasts apart.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(identity)
        hasher.combine(channel)
    }
}

/// The identifier of a channel: 16 random bytes that are assigned once. Its text form is base64 (`apns-channel-id`).
public struct ChannelIdentity: Hashable, Comparable, Sendable {
    /// Bytes 0 to 7, most significant byte first.
    public let high: UInt64
    /// Bytes 8 to 15, most significant byte first.
    public let low: UInt64

    /// The number of bytes.
    public static let byteCount = 16
    /// The number of characters of the base64 form: 22 and two of padding.
    public static let textByteCount = 24

    /// Creates an identity from its two words.
    public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Creates an identity from its 16 bytes; nil if there are not exactly 16.
    public init?(bytes: [UInt8]) {
        guard bytes.count == Self.byteCount else { return nil }
        self.init(
            high: bytes[..<8].reduce(0) { $0 << 8 | UInt64($1) },
            low: bytes[8...].reduce(0) { $0 << 8 | UInt64($1) }
        )
    }

    /// Reads an identity from its base64 form (RFC 4648, section 4), with or without padding; nil if the text is not
    /// one.
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
        // The last character carries only two bits; its other bits must be 0, so that each identity has one text
        // form.
        guard let last = Self.value(digits[21]), last & 0x0F == 0 else { return nil }
        self.init(high: words.high << 2 | words.low >> 62, low: words.low << 2 | UInt64(last >> 4))
    }

    /// Reads an identity from its base64 form; nil if the text is not one.
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

    /// Orders identities by their bytes.
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

/// What a channel stores for devices that are not connected (`message-storage-policy`). It is fixed when the channel
/// is created.
public enum ChannelStorage: Int, Sendable {
    /// Nothing: a broadcast reaches only connected devices.
    case nothing = 0
    /// The most recent broadcast, for ``Limits/broadcastStoredHours`` or until its expiration.
    case mostRecent = 1
}

/// The owner of channels: an app in one environment.
public struct ChannelOwner: Hashable, Sendable {
    /// The app, without the suffix of a push type.
    public let topic: Topic
    /// The environment of its providers and devices.
    public let environment: Environment

    /// Creates an owner from its parts.
    public init(topic: Topic, environment: Environment) {
        self.topic = topic
        self.environment = environment
    }

    /// A hash by which owners are distributed, the same in every process (FNV-1a, 32 bits).
    public var hash: UInt32 {
        var hash: UInt32 = 0x811C_9DC5
        for byte in topic.text.utf8 { hash = (hash ^ UInt32(byte)) &* 0x0100_0193 }
        if environment == .development { hash = (hash ^ 1) &* 0x0100_0193 }
        return hash
    }

    /// The shard that decides about the channels of this app among `shards` of them.
    public func home(among shards: Int) -> Int {
        precondition(shards > 0, "a relay has at least one shard")
        return Int(hash % UInt32(shards))
    }
}

/// A channel in the registry.
public struct ChannelRecord: Hashable, Sendable {
    /// The identifier of the channel.
    public let identity: ChannelIdentity
    /// The app that owns it.
    public let owner: ChannelOwner
    /// What the channel stores.
    public let storage: ChannelStorage
    /// When it was created.
    public let createdAt: Moment

    /// Creates a record from its parts.
    public init(identity: ChannelIdentity, owner: ChannelOwner, storage: ChannelStorage, createdAt: Moment) {
        self.identity = identity
        self.owner = owner
        self.storage = storage
        self.createdAt = createdAt
    }
}

/// An accepted message to all subscribers of a channel. It is immutable, and all shards share it by reference.
public final class Broadcast: Sendable {
    /// The identity of the broadcast. A device drops a second one with the same identity and topic.
    public let identity: NotificationIdentity
    /// The channel.
    public let channel: ChannelIdentity
    /// The topic of the app.
    public let topic: Topic
    /// The JSON object as the provider sent it.
    public let payload: [UInt8]
    /// The priority: `apns-priority`.
    public let priority: Priority
    /// Until when it is worth delivering.
    public let expiration: Expiration
    /// The push type: `apns-push-type`.
    public let pushType: PushType
    /// When the relay accepted it.
    public let acceptedAt: Moment
    /// The trace context of its provider, for the relay's own spans; nil if there is none. It is not stored, and
    /// devices do not get it.
    public let traceContext: TraceContext?

    /// Creates a broadcast from its parts.
    public init(
        identity: NotificationIdentity,
        channel: ChannelIdentity,
        topic: Topic,
        payload: [UInt8],
        priority: Priority,
        expiration: Expiration,
        pushType: PushType,
        acceptedAt: Moment,
        traceContext: TraceContext? = nil
    ) {
        self.identity = identity
        self.channel = channel
        self.topic = topic
        self.payload = payload
        self.priority = priority
        self.expiration = expiration
        self.pushType = pushType
        self.acceptedAt = acceptedAt
        self.traceContext = traceContext
    }

    /// Whether it has expired. This is true for one that must not be stored.
    public func hasExpired(at now: Moment) -> Bool {
        switch expiration {
        case .nowOrNever: true
        case .at(let moment): moment <= now
        }
    }
}

extension Broadcast: Hashable {
    /// Compares all properties.
    public static func == (left: Broadcast, right: Broadcast) -> Bool {
        left.identity == right.identity && left.channel == right.channel && left.topic == right.topic
            && left.payload == right.payload && left.priority == right.priority
            && left.expiration == right.expiration && left.pushType == right.pushType
            && left.acceptedAt == right.acceptedAt && left.traceContext == right.traceContext
    }

    /// Hashes identity and channel, which suffice to distinguish broadcasts.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(identity)
        hasher.combine(channel)
    }
}

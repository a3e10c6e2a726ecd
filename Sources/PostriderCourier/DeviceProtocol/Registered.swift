public import PostriderNotifications

/// A registration, with the device token that the app gives to its provider (`Registered`).
public struct Registered: CourierMessage {
    /// The topic of the app.
    public let topic: String
    /// The device token of the app on this device.
    public let deviceToken: DeviceToken
    /// The environment in which the token is valid.
    public let environment: Environment

    /// Creates a registration from its parts.
    public init(topic: String, deviceToken: DeviceToken, environment: Environment = .production) {
        self.topic = topic
        self.deviceToken = deviceToken
        self.environment = environment
    }

    /// Decodes the message.
    public init(decoding bytes: Span<UInt8>) throws(CourierError) {
        var reader = ProtobufReader()
        var topic = ""
        var token = [UInt8]()
        var environment = Environment.production
        while let field = try reader.next(in: bytes) {
            switch field.number {
            case 1: topic = try field.text(in: bytes)
            case 2: token = try field.bytes(in: bytes)
            case 3: environment = try field.environment()
            default: break
            }
        }
        guard let deviceToken = DeviceToken(bytes: token) else {
            throw .wrongLength(field: 2, expected: DeviceToken.byteCount)
        }
        self.init(topic: topic, deviceToken: deviceToken, environment: environment)
    }

    /// Appends the encoded message.
    public func encode(into output: inout [UInt8]) {
        output.appendField(1, topic)
        output.appendField(2, deviceToken.bytes)
        output.appendField(3, environment.protobufValue)
    }
}

/// The refusal of a registration, for example because the topic is unknown or there are too many (`Refused`).
public struct Refused: CourierMessage {
    /// The topic of the app.
    public let topic: String
    /// One sentence for the user.
    public let reason: String

    /// Creates a refusal from its parts.
    public init(topic: String, reason: String) {
        self.topic = topic
        self.reason = reason
    }

    /// Decodes the message.
    public init(decoding bytes: Span<UInt8>) throws(CourierError) {
        var reader = ProtobufReader()
        var (topic, reason) = ("", "")
        while let field = try reader.next(in: bytes) {
            switch field.number {
            case 1: topic = try field.text(in: bytes)
            case 2: reason = try field.text(in: bytes)
            default: break
            }
        }
        self.init(topic: topic, reason: reason)
    }

    /// Appends the encoded message.
    public func encode(into output: inout [UInt8]) {
        output.appendField(1, topic)
        output.appendField(2, reason)
    }
}

/// The first message of a relay on a stream: the device is accepted (`Welcome`).
public struct Welcome: CourierMessage {
    /// Seconds between the PINGs that the device must send.
    public let keepaliveSeconds: UInt32
    /// The most deliveries that may be under way, from 1 to ``DeliveryWindow/largest``.
    public let window: UInt32
    /// Every registration of the device.
    public let registrations: [Registered]
    /// The number of notifications that are queued for the device.
    public let pending: UInt64
    /// The relay's clock in milliseconds since 1970; 0 from a relay of an older version. It lets a device notice that
    /// its own clock was wrong.
    public let nowMilliseconds: Int64
    /// What the URLs of Web Push registrations begin with, such as `https://push.example.org/push/`; the digits of the
    /// device token follow. Empty if the relay takes no Web Push.
    public let webPushURL: String

    /// Creates a welcome from its parts.
    public init(
        keepaliveSeconds: UInt32, window: UInt32, registrations: [Registered], pending: UInt64,
        nowMilliseconds: Int64 = 0, webPushURL: String = ""
    ) {
        self.keepaliveSeconds = keepaliveSeconds
        self.window = window
        self.registrations = registrations
        self.pending = pending
        self.nowMilliseconds = nowMilliseconds
        self.webPushURL = webPushURL
    }

    /// Decodes the message.
    public init(decoding bytes: Span<UInt8>) throws(CourierError) {
        var reader = ProtobufReader()
        var (keepaliveSeconds, window) = (UInt32(0), UInt32(0))
        var registrations = [Registered]()
        var (pending, nowMilliseconds, webPushURL) = (UInt64(0), Int64(0), "")
        while let field = try reader.next(in: bytes) {
            switch field.number {
            case 1: keepaliveSeconds = try field.uint32()
            case 2: window = try field.uint32()
            case 3: registrations.append(try Registered(decoding: bytes.extracting(try field.range())))
            case 4: pending = try field.uint64()
            case 5: nowMilliseconds = try field.int64()
            case 6: webPushURL = try field.text(in: bytes)
            default: break
            }
        }
        self.init(
            keepaliveSeconds: keepaliveSeconds,
            window: window,
            registrations: registrations,
            pending: pending,
            nowMilliseconds: nowMilliseconds,
            webPushURL: webPushURL
        )
    }

    /// Throws if the values are impossible for a device: without a pause between PINGs it would send nothing else.
    public func check() throws(CourierError) {
        guard (1...DeliveryWindow.largest).contains(Int(window)) else {
            throw .outOfOrder("A window of \(window) deliveries is not possible.")
        }
        guard keepaliveSeconds > 0 else { throw .outOfOrder("A keepalive of 0 seconds is not possible.") }
    }

    /// Appends the encoded message.
    public func encode(into output: inout [UInt8]) {
        output.appendField(1, UInt64(keepaliveSeconds))
        output.appendField(2, UInt64(window))
        for registration in registrations { output.appendField(3, message: registration.encode) }
        output.appendField(4, pending)
        output.appendField(5, UInt64(bitPattern: nowMilliseconds))
        output.appendField(6, webPushURL)
    }
}

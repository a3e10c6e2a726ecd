import PostriderCourier
import PostriderNotifications
import Testing

/// Values for many tests, with bytes that are easy to recognise in a dump.
enum Samples {
    static let device = DeviceIdentity(high: 0x0102_0304_0506_0708, low: 0x090A_0B0C)
    static let secret = [UInt8](0x20..<0x40)
    static let token = DeviceToken(
        words: SIMD4(
            0x8786_8584_8382_8180, 0x8F8E_8D8C_8B8A_8988, 0x9796_9594_9392_9190, 0x9F9E_9D9C_9B9A_9998)
    )
    static let identity = NotificationIdentity(high: 0xF0F1_F2F3_F4F5_F6F7, low: 0xF8F9_FAFB_FCFD_FEFF)

    static let hello = Hello(
        deviceIdentity: device, deviceSecret: secret, keepaliveSeconds: 300, agent: "agent/1")
    static let reception = Reception(savesPower: true, opportunistic: ["a.b", ""], ignored: ["c.d"])
    static let saver = Hello(
        deviceIdentity: device, deviceSecret: secret, keepaliveSeconds: 300, agent: "agent/1",
        reception: reception)
    static let registered = Registered(topic: "a.b", deviceToken: token)
    static let development = Registered(topic: "e.f", deviceToken: token, environment: .development)
    static let refused = Refused(topic: "a.b", reason: "no")
    static let welcome = Welcome(
        keepaliveSeconds: 60,
        window: 64,
        registrations: [registered, Registered(topic: "c.d", deviceToken: token), development],
        pending: 1000
    )
    static let channel = ChannelIdentity(high: 0x3031_3233_3435_3637, low: 0x3839_3A3B_3C3D_3E3F)
    static let subscribe = Subscribe(topic: "a.b", channel: channel, last: identity)
    static let report = Report([
        .init(.handedOver, of: identity, at: Moment(milliseconds: 1_700_000_000_000)),
        .init(.actedOn, of: identity, at: Moment(milliseconds: 1)),
    ])
    static let unsubscribed = Unsubscribed(channel: channel, reason: "no")
    static let broadcast = Deliver(
        delivery: 0,
        identity: identity,
        topic: "a.b",
        payload: Array("{}".utf8),
        priority: .considerate,
        expiration: .at(Moment(milliseconds: 1_700_000_000_000)),
        collapseIdentifier: nil,
        pushType: "liveactivity",
        acceptedAt: Moment(milliseconds: 1),
        channel: channel
    )
    static let bad = Goodbye(reason: .protocolError, retryAfterMilliseconds: .max, detail: "bad")
    static let off = Goodbye(reason: .shutdown, retryAfterMilliseconds: 0, detail: "off")

    static func deliver(_ delivery: UInt64) -> Deliver {
        Deliver(
            delivery: delivery,
            identity: identity,
            topic: "a.b",
            payload: Array("{}".utf8),
            priority: .immediate,
            expiration: .nowOrNever,
            collapseIdentifier: nil,
            pushType: nil,
            acceptedAt: Moment(milliseconds: 1)
        )
    }

    static let fullDeliver = Deliver(
        delivery: 300,
        identity: identity,
        topic: "com.example.app",
        payload: Array(#"{"aps":{}}"#.utf8),
        priority: .considerate,
        expiration: .at(Moment(milliseconds: 1_700_000_000_000)),
        collapseIdentifier: "score",
        pushType: "alert",
        acceptedAt: Moment(milliseconds: 1_690_000_000_000)
    )

    static func notification(
        topic: String = "com.example.app",
        payload: [UInt8] = Array(#"{"aps":{}}"#.utf8),
        pushType: PushType? = .alert,
        priority: Priority = .considerate,
        expiration: Expiration = .at(Moment(milliseconds: 1_700_000_000_000)),
        collapseIdentifier: String? = "score",
        acceptedAt: Int64 = 1_690_000_000_000
    ) throws -> Notification {
        Notification(
            identity: identity,
            device: device,
            registration: RegistrationNumber(1),
            topic: try #require(Topic(topic)),
            pushType: pushType,
            priority: priority,
            expiration: expiration,
            collapseIdentifier: collapseIdentifier,
            payload: payload,
            acceptedAt: Moment(milliseconds: acceptedAt)
        )
    }
}

/// Returns the bytes of a message.
func encoded(_ message: some CourierMessage) -> [UInt8] {
    var bytes = [UInt8]()
    message.encode(into: &bytes)
    return bytes
}

/// Expects that a message encodes to these hexadecimal digits and decodes from them.
func check<Message: CourierMessage>(
    _ message: Message, _ hex: String, sourceLocation: SourceLocation = #_sourceLocation
) throws {
    let golden = try #require(Hexadecimal.bytes(hex), sourceLocation: sourceLocation)
    #expect(Hexadecimal.text(encoded(message)) == hex, sourceLocation: sourceLocation)
    #expect(try Message(decoding: golden.span) == message, sourceLocation: sourceLocation)
}

/// Returns a message with its length prefix.
func framed(_ message: some CourierMessage) -> [UInt8] {
    var bytes = [UInt8]()
    MessageFraming.frame(message, into: &bytes)
    return bytes
}

/// Returns the error of decoding these bytes; nil if there is none.
func decodingError<Message: CourierMessage>(_ type: Message.Type, _ bytes: [UInt8]) -> CourierError? {
    do throws(CourierError) {
        _ = try Message(decoding: bytes.span)
        return nil
    } catch {
        return error
    }
}

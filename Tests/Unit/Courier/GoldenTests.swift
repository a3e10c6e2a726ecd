import PostriderCourier
import PostriderNotifications
import Testing

/// Vectors from protobuf 7.36.2 for Python and the published files. To make them again:
///
///     python3 -m venv venv && venv/bin/pip install grpcio-tools
///     venv/bin/python -m grpc_tools.protoc -I docs/reference --python_out=. \
///         docs/reference/courier.proto docs/reference/agent.proto
///
/// Then fill each message like the value beside its vector, and print `SerializeToString(deterministic=True).hex()`.
@Suite struct GoldenTests {

    @Test("enrolment is written as protobuf writes it")
    func enrolment() throws {
        try check(
            EnrollRequest(enrolmentKey: "key-1", name: "Küche"),
            "0a056b65792d3112064bc3bc636865"
        )
        try check(
            EnrollResponse(deviceIdentity: Samples.device, deviceSecret: Samples.secret),
            "0a0c0102030405060708090a0b0c12" + secretHex
        )
    }

    @Test("a device's messages are written as protobuf writes them")
    func deviceMessages() throws {
        try check(
            DeviceMessage.hello(Samples.hello),
            "0a3c0a0c0102030405060708090a0b0c12" + secretHex + "18ac0222076167656e742f31"
        )
        try check(
            DeviceMessage.register(topic: "com.example.app"), "12110a0f636f6d2e6578616d706c652e617070")
        try check(DeviceMessage.register(topic: ""), "1200")
        try check(DeviceMessage.register(topic: "a.b", environment: .development), "12070a03612e621001")
        try check(
            DeviceMessage.unregister(topic: "com.example.app"), "1a110a0f636f6d2e6578616d706c652e617070")
        try check(
            DeviceMessage.acknowledge([1, 127, 128, .max]),
            "22100a0e017f8001ffffffffffffffffff01"
        )
        try check(DeviceMessage.goodbye(Samples.off), "2a0708011a036f6666")
        try check(
            DeviceMessage.hello(Samples.saver),
            "0a4c0a0c0102030405060708090a0b0c12" + secretHex + "18ac0222076167656e742f312a" + receptionHex)
        try check(DeviceMessage.reception(Samples.reception), "4a" + receptionHex)
        try check(DeviceMessage.reception(.usual), "4a00")
        try check(DeviceMessage.reception(Reception(batteryPercent: 40)), "4a022029")
        try check(DeviceMessage.reception(Reception(batteryPercent: 0)), "4a022001")
        try check(DeviceMessage.fetch, "5200")
        try check(
            DeviceMessage.registerWebPush(RegisterWebPush(topic: "web-push.a", senderKey: [4, 5])),
            "5a100a0a7765622d707573682e6112020405")
        try check(DeviceMessage.unknown, "")
    }

    @Test("a relay's messages are written as protobuf writes them")
    func relayMessages() throws {
        try check(
            RelayMessage.welcome(Samples.welcome),
            "0a8401083c10401a270a03612e6212" + tokenHex + "1a270a03632e6412" + tokenHex + "1a290a03652e6612"
                + tokenHex + "180120e807"
        )
        try check(
            RelayMessage.welcome(
                Welcome(
                    keepaliveSeconds: 60, window: 64, registrations: [], pending: 0,
                    webPushURL: "https://a/push/")),
            "0a15083c1040320f68747470733a2f2f612f707573682f")
        try check(RelayMessage.registered(Samples.registered), "12270a03612e6212" + tokenHex)
        try check(RelayMessage.registered(Samples.development), "12290a03652e6612" + tokenHex + "1801")
        try check(RelayMessage.unregistered(topic: "a.b"), "1a050a03612e62")
        try check(RelayMessage.refused(Samples.refused), "22090a03612e6212026e6f")
        try check(RelayMessage.deliver(Samples.fullDeliver), fullDeliverHex)
        try check(
            RelayMessage.deliver(Samples.deliver(1)),
            "2a2108011210f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff1a03612e6222027b7d280a4801"
        )
        try check(RelayMessage.goodbye(Samples.bad), "320d080510ffffffff0f1a03626164")
        try check(RelayMessage.unknown, "")
    }

    @Test("the app socket's messages are written as protobuf writes them")
    func appMessages() throws {
        try check(AppMessage.register(topic: "a.b"), "0a050a03612e62")
        try check(AppMessage.register(topic: "a.b", environment: .development), "0a070a03612e621001")
        try check(AppMessage.unregister(topic: "a.b"), "12050a03612e62")
        try check(AppMessage.handled([1, 2, 300]), "1a060a040102ac02")
        try check(AgentMessage.registered(Samples.registered), "0a270a03612e6212" + tokenHex)
        try check(AgentMessage.unregistered(topic: "a.b"), "12050a03612e62")
        try check(AgentMessage.refused(Samples.refused), "1a090a03612e6212026e6f")
        try check(
            AgentMessage.deliver(Samples.deliver(1)),
            "222108011210f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff1a03612e6222027b7d280a4801"
        )
    }

    @Test("what is said of channels is written as protobuf writes it")
    func channels() throws {
        let channel = "0a10" + channelHex
        try check(
            DeviceMessage.subscribe(Samples.subscribe),
            "32290a03612e621210" + channelHex + "1a10f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff")
        try check(DeviceMessage.unsubscribe(Samples.channel), "3a12" + channel)
        try check(RelayMessage.subscribed(Samples.channel), "3a12" + channel)
        try check(RelayMessage.unsubscribed(Samples.unsubscribed), "4216" + channel + "12026e6f")
        let named = Unsubscribed(channel: Samples.channel, reason: "no", topic: "a.b")
        try check(RelayMessage.unsubscribed(named), "421b" + channel + "12026e6f1a03612e62")
        try check(RelayMessage.broadcast(Samples.broadcast), broadcastHex)
        let wish = Subscribe(topic: "a.b", channel: Samples.channel)
        try check(AppMessage.subscribe(wish), "22170a03612e621210" + channelHex)
        try check(AppMessage.unsubscribe(wish), "2a170a03612e621210" + channelHex)
        try check(AgentMessage.subscribed(Samples.channel), "2a12" + channel)
        try check(AgentMessage.unsubscribed(Samples.unsubscribed), "3216" + channel + "12026e6f")
    }

    @Test("a report, and what asks for it, are written as protobuf writes them")
    func reports() throws {
        let identity = "0a10f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff"
        try check(
            DeviceMessage.report(Samples.report),
            "42350a1b" + identity + "10011880d095ffbc310a16" + identity + "10031801")
        let deliver = Deliver(
            delivery: 1, identity: Samples.identity, topic: "a.b", payload: Array("{}".utf8),
            priority: .immediate, expiration: .nowOrNever, collapseIdentifier: nil, pushType: nil,
            acceptedAt: Moment(milliseconds: 1), wantsReport: true)
        try check(
            RelayMessage.deliver(deliver),
            "2a2308011210f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff1a03612e6222027b7d280a48015801")
    }

    @Test("for how long an app had a push is written as protobuf writes it")
    func took() throws {
        let event = Report.Event(
            .handedOver, of: Samples.identity, at: Moment(milliseconds: 1), tookMilliseconds: 300)
        try check(
            DeviceMessage.report(Report([event])),
            "421b0a190a10f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff1001180138ac02")
    }

    @Test("a trace context is written as protobuf writes it, and an invalid one counts as missing")
    func traceContexts() throws {
        let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        let parentHex = "0a37" + Hexadecimal.text(Array(parent.utf8))
        let start = "08011210f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff1a03612e6222027b7d280a4801"
        func message(_ state: String?) -> RelayMessage {
            .deliver(
                Deliver(
                    delivery: 1, identity: Samples.identity, topic: "a.b", payload: Array("{}".utf8),
                    priority: .immediate, expiration: .nowOrNever, collapseIdentifier: nil, pushType: nil,
                    acceptedAt: Moment(milliseconds: 1),
                    traceContext: TraceContext(parent: parent, state: state)))
        }
        try check(message(nil), "2a5c" + start + "7a39" + parentHex)
        try check(message("a=1"), "2a61" + start + "7a3e" + parentHex + "1203613d31")
        let invalid = try #require(Hexadecimal.bytes(start + "7a030a0141"))
        #expect(try Deliver(decoding: invalid.span) == Samples.deliver(1))
    }

    @Test("what tells pushes with one apns-id apart is written as protobuf writes it", .bug(id: "R6"))
    func namesakes() throws {
        let identity = "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff"
        let other = try #require(NotificationIdentity(bytes: [UInt8](repeating: 0xA1, count: 16)))
        let deliver = Deliver(
            delivery: 1, identity: other, topic: "a.b", payload: Array("{}".utf8),
            priority: .immediate, expiration: .nowOrNever, collapseIdentifier: nil, pushType: nil,
            acceptedAt: Moment(milliseconds: 1), wantsReport: true, replacedIdentity: Samples.identity,
            push: 300)
        try check(
            RelayMessage.deliver(deliver),
            "2a3808011210" + String(repeating: "a1", count: 16)
                + "1a03612e6222027b7d280a480158016210" + identity + "68ac02")
        try check(
            DeviceMessage.report(
                Report([
                    Report.Event(
                        .merged, of: Samples.identity, push: 300, other: 299, at: Moment(milliseconds: 0))
                ])),
            "421c0a1a0a10" + identity + "100520ac0228ab02")
        let wish = Subscribe(
            topic: "a.b", channel: Samples.channel, last: Samples.identity,
            lastAcceptedAt: Moment(milliseconds: 300))
        var bytes = [UInt8]()
        wish.encode(into: &bytes)
        #expect(Hexadecimal.text(bytes).hasSuffix("1a10" + identity + "20ac02"))
        #expect(try Subscribe(decoding: bytes.span) == wish)
    }

    @Test("a broadcast is framed once for all, as protobuf writes it")
    func broadcast() throws {
        let broadcast = Broadcast(
            identity: Samples.identity, channel: Samples.channel, topic: try #require(Topic("a.b")),
            payload: Array("{}".utf8), priority: .considerate,
            expiration: .at(Moment(milliseconds: 1_700_000_000_000)), pushType: .liveactivity,
            acceptedAt: Moment(milliseconds: 1))
        #expect(Hexadecimal.text(frameBroadcast(broadcast)) == "0000000048" + broadcastHex)
    }

    @Test("the data path's encoder writes the same bytes behind a prefix")
    func frame() throws {
        var bytes = [UInt8]()
        frameDeliver(try Samples.notification(), delivery: 300, into: &bytes)
        #expect(Hexadecimal.text(bytes) == "0000000052" + fullDeliverHex)
    }

    private let receptionHex = "0e08011203612e6212001a03632e64"
    private let secretHex = "20202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f"
    private let tokenHex = "20808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f"
    private let channelHex = "303132333435363738393a3b3c3d3e3f"
    private let broadcastHex =
        "4a461210f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff1a03612e6222027b7d28053080d095ffbc31420c6c69766561637469"
        + "7669747948015210303132333435363738393a3b3c3d3e3f"
    private let fullDeliverHex =
        "2a5008ac021210f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff1a0f636f6d2e6578616d706c652e617070220a7b22617073223a"
        + "7b7d7d28053080d095ffbc313a0573636f72654205616c657274488088e6de9731"
}

import PostriderCourier
import PostriderNotifications
import PostriderSeededRandom
import Testing

@Suite struct MutationTests {
    private static let seeds: [[UInt8]] = [
        encoded(EnrollRequest(enrolmentKey: "key-1", name: "Küche")),
        encoded(EnrollResponse(deviceIdentity: Samples.device, deviceSecret: Samples.secret)),
        encoded(DeviceMessage.hello(Samples.hello)),
        encoded(DeviceMessage.register(topic: "a.b")),
        encoded(DeviceMessage.acknowledge([1, 128, .max])),
        encoded(DeviceMessage.hello(Samples.saver)),
        encoded(DeviceMessage.reception(Samples.reception)),
        encoded(DeviceMessage.subscribe(Samples.subscribe)),
        encoded(DeviceMessage.unsubscribe(Samples.channel)),
        encoded(DeviceMessage.report(Samples.report)),
        encoded(DeviceMessage.registerWebPush(RegisterWebPush(topic: "web-push.a", senderKey: [4, 5]))),
        encoded(RelayMessage.subscribed(Samples.channel)),
        encoded(RelayMessage.unsubscribed(Samples.unsubscribed)),
        encoded(RelayMessage.broadcast(Samples.broadcast)),
        encoded(RelayMessage.welcome(Samples.welcome)),
        encoded(RelayMessage.deliver(Samples.fullDeliver)),
        encoded(RelayMessage.goodbye(Samples.bad)),
        encoded(AppMessage.handled([1, 2, 300])),
        encoded(AgentMessage.refused(Samples.refused)),
        encoded(AppMessage.center(CenterCall(call: 1, topic: "a.b", order: .add(CenterGoldenTests.full)))),
        encoded(
            AppMessage.center(
                CenterCall(call: 2, topic: "a", order: .setCategories(CenterGoldenTests.categories)))),
        encoded(AppMessage.failed(Failed(delivery: 3, reason: "No."))),
        encoded(
            AgentMessage.lifeCycle(
                LifeCycle(topic: "a.b", event: .didFinishLaunching, launch: .activation))),
        encoded(SystemGoldenTests.keyboard), encoded(SystemGoldenTests.link),
        encoded(SystemGoldenTests.order),
        encoded(AgentMessage.answer(CenterAnswer(call: 3, content: .item(CenterGoldenTests.notice)))),
        [],
    ]

    private static func mutate(_ bytes: inout [UInt8], _ bits: inout SplitMix64) {
        switch Int.random(in: 0..<5, using: &bits) {
        case 0 where !bytes.isEmpty:
            bytes[Int.random(in: bytes.indices, using: &bits)] = .random(in: 0...255, using: &bits)
        case 1 where !bytes.isEmpty:
            bytes[Int.random(in: bytes.indices, using: &bits)] ^= 1 << UInt8.random(in: 0..<8, using: &bits)
        case 2:
            bytes.insert(.random(in: 0...255, using: &bits), at: .random(in: 0...bytes.count, using: &bits))
        case 3 where !bytes.isEmpty: bytes.remove(at: .random(in: bytes.indices, using: &bits))
        default: bytes.removeLast(.random(in: 0...bytes.count / 2, using: &bits))
        }
    }

    /// Returns false if the bytes decode to a message whose encoding decodes to a different message.
    private func check<Message: CourierMessage>(_ type: Message.Type, _ bytes: [UInt8]) -> Bool {
        guard let message = try? Message(decoding: bytes.span) else { return false }
        let again = encoded(message)
        #expect((try? Message(decoding: again.span)) == message, "\(Hexadecimal.text(bytes))")
        return true
    }

    @Test(
        "no bytes make a decoder trap, and what decodes survives another round",
        arguments: [1, 2, 3] as [UInt64])
    func decoders(_ seed: UInt64) {
        var bits = SplitMix64(seed: seed)
        var decoded = 0
        for _ in 0..<4000 {
            var bytes = Self.seeds[Int.random(in: Self.seeds.indices, using: &bits)]
            for _ in 0..<Int.random(in: 1...6, using: &bits) { Self.mutate(&bytes, &bits) }
            let results = [
                check(EnrollRequest.self, bytes), check(EnrollResponse.self, bytes), check(Hello.self, bytes),
                check(Registered.self, bytes), check(Refused.self, bytes), check(Welcome.self, bytes),
                check(Goodbye.self, bytes), check(Deliver.self, bytes), check(DeviceMessage.self, bytes),
                check(RelayMessage.self, bytes), check(AppMessage.self, bytes),
                check(AgentMessage.self, bytes), check(Subscribe.self, bytes),
                check(Unsubscribed.self, bytes), check(Report.self, bytes),
            ]
            decoded += results.count { $0 }
        }
        #expect(decoded > 1000, "the mutations are too wild to reach anything behind the first field")
    }

    @Test("no bytes make framing or the machines trap", arguments: [4, 5, 6] as [UInt64])
    func links(_ seed: UInt64) {
        var bits = SplitMix64(seed: seed)
        let conversation = [
            framed(DeviceMessage.hello(Samples.hello)), framed(DeviceMessage.register(topic: "a.b")),
            framed(DeviceMessage.acknowledge([1, 3])), framed(DeviceMessage.acknowledge([2])),
            framed(DeviceMessage.goodbye(Samples.off)),
        ].flatMap { $0 }
        for _ in 0..<1000 {
            var bytes = conversation
            for _ in 0..<Int.random(in: 0...4, using: &bits) { Self.mutate(&bytes, &bits) }
            var framing = MessageFraming(maxMessageBytes: Limits.deviceMessageBytes)
            var link = RelayLink()
            var window = DeliveryWindow(size: Limits.deliveryWindow)
            while !bytes.isEmpty {
                let count = Int.random(in: 1...bytes.count, using: &bits)
                framing.feed(bytes.span.extracting(0..<count))
                bytes.removeFirst(count)
                do {
                    while let message = try framing.next(DeviceMessage.self) {
                        switch try link.receive(message) {
                        case .hello:
                            _ = link.welcome(keepaliveSeconds: 60, registrations: [], pending: 0)
                            for number: UInt64 in 1...3 { #expect(window.advance() == number) }
                        case .acknowledged(let deliveries):
                            if let stranger = window.acknowledge(deliveries) {
                                throw link.refuse(acknowledgementOf: stranger)
                            }
                        default: break
                        }
                    }
                } catch { bytes = [] }
            }
        }
    }
}

import PostriderCourier
import PostriderNotifications

/// The device protocol and the app socket: every message, the framing, the state machines at both ends, gRPC's own
/// headers.
///
/// The first byte, a letter from `a` on, chooses one of these; the rest is its input.
enum CourierBytes {
    static func run(_ input: [UInt8]) throws(Contradiction) {
        guard let letter = input.first, letter >= UInt8(ascii: "a") else { return }
        let bytes = Array(input.dropFirst())
        switch letter - UInt8(ascii: "a") {
        case 0: try message(EnrollRequest.self, bytes)
        case 1: try message(EnrollResponse.self, bytes)
        case 2: try message(Hello.self, bytes)
        case 3: try message(Registered.self, bytes)
        case 4: try message(Refused.self, bytes)
        case 5: try message(Welcome.self, bytes)
        case 6: try message(Goodbye.self, bytes)
        case 7: try message(Deliver.self, bytes)
        case 8: try message(DeviceMessage.self, bytes)
        case 9: try message(RelayMessage.self, bytes)
        case 10: try message(AppMessage.self, bytes)
        case 11: try message(AgentMessage.self, bytes)
        case 12: try framing(bytes)
        case 13: try relayLink(bytes)
        case 14: try deviceLink(bytes)
        case 15: try fieldValues(bytes)
        case 16: try message(Subscribe.self, bytes)
        case 17: try message(Unsubscribed.self, bytes)
        case 18: try message(CenterCall.self, bytes)
        case 19: try message(CenterAnswer.self, bytes)
        case 20: try message(LocalNotice.self, bytes)
        case 21: try message(Fired.self, bytes)
        case 22: try message(Responded.self, bytes)
        case 23: try message(Authorization.self, bytes)
        case 24: try message(LocalRequest.self, bytes)
        case 25: try message(LocalCategory.self, bytes)
        default: break
        }
    }

    /// Checks that a decoded message, encoded again, decodes to the same message.
    private static func message<Message: CourierMessage>(
        _ type: Message.Type, _ bytes: [UInt8]
    ) throws(Contradiction) {
        guard let message = try? Message(decoding: bytes.span) else { return }
        var written: [UInt8] = []
        message.encode(into: &written)
        let again: Message
        do throws(CourierError) {
            again = try Message(decoding: written.span)
        } catch {
            throw Contradiction("\(type) is written so that it cannot be read: \(error)")
        }
        try hold(again == message, "\(type) is another one when it has been written")
        var rewritten: [UInt8] = []
        again.encode(into: &rewritten)
        try hold(rewritten == written, "\(type) is written in two ways")
    }

    /// Checks that pieces of any size give the same messages, or the same error after the same messages.
    private static func framing(_ bytes: [UInt8]) throws(Contradiction) {
        let size = Int(bytes.first ?? 0) % 16 + 1
        let whole = cut(bytes, pieces: max(bytes.count, 1))
        let inPieces = cut(bytes, pieces: size)
        try hold(whole.messages == inPieces.messages, "pieces of \(size) bytes are other messages")
        try hold(whole.error == inPieces.error, "pieces of \(size) bytes end otherwise")
        try hold(whole.rest == inPieces.rest, "pieces of \(size) bytes leave another rest")
        let content = whole.messages.reduce(0) { $0 + $1.count + MessageFraming.prefixByteCount }
        try hold(content <= bytes.count, "there are more messages than bytes")
    }

    private struct Cut {
        var messages: [[UInt8]] = []
        var error: CourierError?
        var rest = 0
    }

    private static func cut(_ bytes: [UInt8], pieces size: Int) -> Cut {
        var framing = MessageFraming(maxMessageBytes: 300)
        var result = Cut()
        for start in stride(from: 0, to: bytes.count, by: size) {
            framing.feed(bytes.span.extracting(start..<min(start + size, bytes.count)))
            do throws(CourierError) {
                while let message = try framing.next() { result.messages.append(message) }
            } catch {
                result.error = error
            }
        }
        result.rest = framing.waitingByteCount
        return result
    }

    /// Runs a relay's link with the input as the device; the relay delivers whenever there is room. Both ends must
    /// agree on the deliveries under way.
    private static func relayLink(_ bytes: [UInt8]) throws(Contradiction) {
        let window = Int(bytes.first ?? 0) % DeliveryWindow.largest + 1
        var framing = MessageFraming(maxMessageBytes: Limits.deviceMessageBytes)
        var link = RelayLink(window: window)
        var outstanding = DeliveryWindow(size: window)
        framing.feed(bytes.span.extracting(min(1, bytes.count)...))
        var underway: Set<UInt64> = []
        while let message = try? framing.next(DeviceMessage.self) {
            let event: RelayLink.Event?
            do throws(CourierError) {
                event = try link.receive(message)
            } catch {
                return
            }
            switch event {
            case .hello: _ = link.welcome(keepaliveSeconds: 60, registrations: [], pending: 0)
            case .acknowledged(let deliveries):
                try hold(!deliveries.isEmpty, "an acknowledgement of nothing is passed on")
                if let stranger = outstanding.acknowledge(deliveries) {
                    _ = link.refuse(acknowledgementOf: stranger)
                    try hold(!link.isOpen, "a wrong acknowledgement leaves the link open")
                    return
                }
                for delivery in deliveries {
                    try hold(underway.remove(delivery) != nil, "delivery \(delivery) was not under way")
                }
            case .goodbye: return
            case .register, .registerWebPush, .unregister, .subscribe, .unsubscribe, .reception, .fetch,
                .reported:
                try hold(link.isOpen, "a wish is heard before the welcome")
            case nil: break
            }
            while link.isOpen, let delivery = outstanding.advance() { underway.insert(delivery) }
            try hold(
                outstanding.outstandingCount == underway.count,
                "\(outstanding.outstandingCount) are under way")
            try hold(underway.count <= window, "the window is overrun")
        }
    }

    /// Runs a device's link with the input as the relay. The device acknowledges every other delivery at once, and
    /// the others later.
    private static func deviceLink(_ bytes: [UInt8]) throws(Contradiction) {
        var framing = MessageFraming(maxMessageBytes: Limits.relayMessageBytes)
        let hello = Hello(
            deviceIdentity: DeviceIdentity(high: 1, low: 2),
            deviceSecret: [UInt8](repeating: 7, count: Limits.deviceSecretBytes), keepaliveSeconds: 0,
            agent: "")
        var link = DeviceLink(hello: hello, wanted: ["a.b": .production], unwanted: ["c.d"])
        _ = link.start()
        framing.feed(bytes.span)
        let wish = Subscribe(topic: "a.b", channel: ChannelIdentity(high: 1, low: 2))
        var held: [UInt64] = []
        var fault: String?
        do throws(CourierError) {
            while let message = try framing.next(RelayMessage.self) {
                switch try link.receive(message) {
                case .deliver(let deliver):
                    held.append(deliver.delivery)
                    guard held.count.isMultiple(of: 2) else { continue }
                    _ = link.send(.acknowledge(held))
                    held = []
                case .welcomed:
                    if link.send(.subscribe(wish)) != .subscribe(wish) {
                        fault = "an open link does not subscribe"
                    }
                case .broadcast(let deliver):
                    if deliver.channel == nil { fault = "a broadcast is of no channel" }
                case .goodbye:
                    if link.send(.subscribe(wish)) != nil { fault = "a link subscribes after the goodbye" }
                default: break
                }
            }
        } catch {
            _ = error.goodbye
        }
        if let fault { throw Contradiction(fault) }
    }

    /// Decodes values of gRPC's headers.
    private static func fieldValues(_ bytes: [UInt8]) throws(Contradiction) {
        let text = GRPCMessage.decode(bytes.span)
        let header = GRPCMessage.encode(text)
        try hold(GRPCMessage.decode(header.span) == text, "a message is another one when it has been sent")
        try hold(header.allSatisfy { (0x20...0x7E).contains($0) }, "a message is sent in bytes beyond ASCII")
        _ = GRPCStatus(bytes.span)
        if let method = CourierMethod(path: bytes.span) {
            try hold(bytes.elementsEqual(method.rawValue.utf8), "a path is taken for another one")
        }
    }
}

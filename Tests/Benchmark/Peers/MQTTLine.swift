import PostriderHTTP2
import PostriderTransport

/// One connection of MQTT 3.1.1 (an OASIS standard), with acknowledged messages (QoS 1) and little else.
class MQTTLine: ConnectionHandler {
    enum Kind: UInt8 {
        case connectAcknowledgement = 2
        case publish = 3
        case publishAcknowledgement = 4
        case subscribeAcknowledgement = 9
    }

    unowned let crowd: Crowd
    private let name: String
    private var wire: (any ConnectionOutput)?
    private var output: [UInt8] = []
    /// The beginning of an incomplete packet.
    private var rest: [UInt8] = []

    init(_ name: String, of crowd: Crowd) {
        self.crowd = crowd
        self.name = name
    }

    /// Called for each packet; `bytes` is what follows its length.
    func take(_ kind: Kind, _ bytes: Span<UInt8>) {}

    /// Sends a packet at the end of this turn.
    func send(_ head: UInt8, _ parts: [UInt8]...) {
        output.append(head)
        var length = parts.reduce(0) { $0 + $1.count }
        repeat {
            output.append(UInt8(length & 0x7F) | (length > 0x7F ? 0x80 : 0))
            length >>= 7
        } while length > 0
        for part in parts { output += part }
        wire?.setNeedsFlush()
    }

    /// Encodes a text for the protocol.
    static func text(_ text: String) -> [UInt8] { number(text.utf8.count) + text.utf8 }

    /// Encodes a 16-bit number for the protocol.
    static func number(_ number: Int) -> [UInt8] { [UInt8(number >> 8), UInt8(number & 0xFF)] }

    /// Returns the topic of a subscriber.
    static func topic(of subscriber: Int) -> String { "devices/\(subscriber)" }

    // MARK: ConnectionHandler

    final func opened(on wire: any ConnectionOutput) {
        self.wire = wire
        // Version 4, a clean session, no keepalive.
        send(0x10, Self.text("MQTT"), [4, 2, 0, 0], Self.text(name))
    }

    final func received(_ bytes: Span<UInt8>) {
        crowd.readClock()
        var held: [UInt8] = []
        swap(&held, &rest)
        held.append(copying: bytes)
        var start = 0
        while let body = Self.body(of: held.span, from: start) {
            if let kind = Kind(rawValue: held[start] >> 4) { take(kind, held.span.extracting(body)) }
            start = body.upperBound
        }
        held.removeFirst(start)
        swap(&held, &rest)
    }

    final func inputEnded() { wire?.close(.peerClosed) }

    final func flush(into output: inout [UInt8]) {
        output += self.output
        self.output.removeAll(keepingCapacity: true)
    }

    final func closed(_ reason: CloseReason) {
        wire = nil
        crowd.connectionEnded(reason)
    }

    /// Returns the body of the packet that begins at `start`; nil if it is incomplete.
    private static func body(of bytes: Span<UInt8>, from start: Int) -> Range<Int>? {
        var (place, length, shift) = (start + 1, 0, 0)
        while place < bytes.count {
            let byte = bytes[place]
            length |= Int(byte & 0x7F) << shift
            (place, shift) = (place + 1, shift + 7)
            if byte & 0x80 == 0 { return place + length <= bytes.count ? place..<place + length : nil }
        }
        return nil
    }
}

/// Subscribes to its own topic, and acknowledges every message.
final class MQTTSubscriber: MQTTLine {
    private let number: Int

    init(_ number: Int, of crowd: Crowd) {
        self.number = number
        super.init("subscriber-\(number)", of: crowd)
    }

    override func take(_ kind: Kind, _ bytes: Span<UInt8>) {
        switch kind {
        case .connectAcknowledgement: send(0x82, Self.number(1), Self.text(Self.topic(of: number)), [1])
        case .subscribeAcknowledgement: crowd.subscriberIsReady()
        case .publish:
            let identifier = 2 + (Int(bytes[0]) << 8 | Int(bytes[1]))
            send(0x40, [bytes[identifier], bytes[identifier + 1]])
            crowd.messageArrived(bytes.extracting(droppingFirst: identifier + 2), at: number)
        case .publishAcknowledgement: break
        }
    }
}

/// Publishes to any topic.
final class MQTTPublisher: MQTTLine, Publisher {
    private var underWay = 0
    private var identifier = 0

    /// Half of the identifiers, so that none is used twice at a time.
    private static let mostUnderWay = 32_000

    init(_ number: Int, of crowd: Crowd) { super.init("publisher-\(number)", of: crowd) }

    var hasRoom: Bool { underWay < Self.mostUnderWay }

    func publish(_ message: [UInt8], to subscriber: Int) {
        underWay += 1
        identifier = identifier % 65_535 + 1
        send(0x32, Self.text(Self.topic(of: subscriber)), Self.number(identifier), message)
    }

    override func take(_ kind: Kind, _ bytes: Span<UInt8>) {
        switch kind {
        case .connectAcknowledgement: crowd.publisherIsReady()
        case .publishAcknowledgement:
            underWay -= 1
            crowd.messageWasAcknowledged()
        case .publish, .subscribeAcknowledgement: break
        }
    }
}

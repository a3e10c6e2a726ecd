import PostriderCourier
import PostriderHTTP2
import PostriderNotifications

@testable import PostriderRelay

/// A device's connection to a node of a ``NodesWorld``, as the device sees it.
final class NodesWorldLink: SessionHandler {
    let node: FixtureNode
    private let line: FixtureLine
    private lazy var client = HTTP2Connection(role: .client, handler: self)
    private var link: DeviceLink
    private var framing = MessageFraming(maxMessageBytes: Limits.relayMessageBytes)
    private var stream: Int32 = 0
    /// Hears of each event.
    private let hear: (DeviceLink.Event) -> Void
    /// The deliveries that are not acknowledged, in order.
    private var unacknowledged: [UInt64] = []
    /// Whether the node has ended the stream, or the connection.
    private var hasEnded = false
    /// What is said meanwhile is sent afterwards.
    private var isReceiving = false
    /// How the node has broken the protocol.
    private(set) var complaint: String?

    /// Connects to a shard of a node, and says hello.
    init(to node: FixtureNode, at shard: Int, _ hello: Hello, hear: @escaping (DeviceLink.Event) -> Void)
        throws
    {
        self.node = node
        self.hear = hear
        line = node.accept(at: shard)
        link = DeviceLink(hello: hello, wanted: [:], unwanted: [])
        stream = try client.openRequest([
            ":method": "POST", ":scheme": "https", ":authority": "relay",
            ":path": "/postrider.courier.v1.Courier/Connect", "content-type": "application/grpc",
        ])
        say(link.start())
    }

    /// Whether the device was welcomed, and neither side has said goodbye.
    var isOpen: Bool { link.isOpen }

    /// Whether nothing more comes.
    var isOver: Bool { hasEnded || line.isOver }

    /// Says something, if it can be said now. Returns whether it was.
    @discardableResult
    func send(_ message: DeviceMessage) -> Bool {
        guard let message = link.send(message) else { return false }
        say(message)
        return true
    }

    /// Takes some of what has arrived.
    func receive(_ portion: (Int) -> Int) {
        isReceiving = true
        for bytes in line.take(portion) {
            do {
                try client.receive(bytes.span)
            } catch {
                complain("\(error)")
            }
        }
        isReceiving = false
        flush()
    }

    /// Acknowledges some of what was delivered.
    func acknowledge(_ portion: (Int) -> Int) {
        let some = FixtureNode.take(&unacknowledged, portion)
        if !some.isEmpty { send(.acknowledge(some)) }
    }

    /// Ends the connection: with a goodbye, or without a word.
    func hangUp(isAbrupt: Bool) {
        if !isAbrupt, let goodbye = link.goodbye(.asleep, detail: "") { say(goodbye) }
        line.hangUp(isAbrupt: isAbrupt)
    }

    private func say(_ message: DeviceMessage) {
        var frame: [UInt8] = []
        MessageFraming.frame(message, into: &frame)
        client.send(stream, frame.span)
        if !isReceiving { flush() }
    }

    private func flush() {
        var bytes: [UInt8] = []
        client.drain(into: &bytes)
        line.send(bytes)
    }

    private func complain(_ text: String) { complaint = complaint ?? text }

    // MARK: SessionHandler

    func headers(_ stream: Int32, _ block: inout HeaderBlock, kind: BlockKind, endStream: Bool) {}

    func data(_ stream: Int32, _ bytes: Span<UInt8>) {
        framing.feed(bytes)
        do throws(CourierError) {
            while let message = try framing.next(RelayMessage.self) {
                guard let event = try link.receive(message) else { continue }
                if case .deliver(let deliver) = event { unacknowledged.append(deliver.delivery) }
                hear(event)
            }
        } catch {
            complain(error.description)
        }
    }

    func ended(_ stream: Int32) { hasEnded = true }
    func closed(_ stream: Int32, errorCode: UInt32) { hasEnded = true }
    func goawayReceived(lastStream: Int32, errorCode: UInt32, debug: [UInt8]) {}
}

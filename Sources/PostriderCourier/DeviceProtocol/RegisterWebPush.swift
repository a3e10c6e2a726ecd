/// The wish for a registration to which application servers send by Web Push (`RegisterWebPush`).
public struct RegisterWebPush: CourierMessage {
    /// The topic: ``topicPrefix``, and something that the device has drawn.
    public let topic: String
    /// The only key with which messages may be sent (RFC 8292, section 4): an uncompressed point on P-256, 65 bytes.
    /// Empty if the registration is for everybody who knows its URL.
    public let senderKey: [UInt8]

    /// How the topics of these registrations begin, so that none is the topic of an app.
    public static let topicPrefix = "web-push."

    /// Whether a text has the form of these topics.
    public static func hasForm(_ topic: String) -> Bool { topic.utf8.starts(with: topicPrefix.utf8) }

    /// Creates a wish from its parts.
    public init(topic: String, senderKey: [UInt8]) {
        self.topic = topic
        self.senderKey = senderKey
    }

    /// Decodes the message.
    public init(decoding bytes: Span<UInt8>) throws(CourierError) {
        var reader = ProtobufReader()
        var (topic, senderKey) = ("", [UInt8]())
        while let field = try reader.next(in: bytes) {
            switch field.number {
            case 1: topic = try field.text(in: bytes)
            case 2: senderKey = try field.bytes(in: bytes)
            default: break
            }
        }
        self.init(topic: topic, senderKey: senderKey)
    }

    /// Appends the encoded message.
    public func encode(into output: inout [UInt8]) {
        output.appendField(1, topic)
        output.appendField(2, senderKey)
    }
}

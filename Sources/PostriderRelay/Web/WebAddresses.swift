import PostriderJSON
import PostriderNotifications
import PostriderProviderAPI

/// The URLs of the web port. What they name is sealed in them, so that nobody can make one, and a forged one is refused
/// without a look-up.
struct WebAddresses {
    /// The kinds of resources.
    enum Kind {
        /// `/push/SUBSCRIPTION`: a subscription, to which messages are posted.
        case subscription
        /// `/m/SUBSCRIPTION/MESSAGE`: a message.
        case message
        /// `/r/RECEIPTS`: a receipt subscription.
        case receipts
        /// `/r/RECEIPTS/MESSAGE`: the receipt of one message.
        case receipt
        /// `/send/TOPIC/DEVICE`: a device, to which scripts send text.
        case device

        /// The methods that it knows, separated by commas.
        var methods: String {
            switch self {
            case .subscription: "POST, OPTIONS"
            case .message, .receipt: "DELETE, OPTIONS"
            case .receipts: "GET, OPTIONS"
            case .device: "POST"
            }
        }
    }

    /// The origin: `https://push.example.org`.
    private let origin: String
    private let codec: DeviceTokenCodec
    /// What the URLs of subscriptions begin with; empty if there is no web port.
    let subscriptionPrefix: String

    init(origin: String, codec: DeviceTokenCodec) {
        self.origin = origin
        subscriptionPrefix = origin.isEmpty ? "" : "\(origin)/push/"
        self.codec = codec
    }

    /// The kind of resource that a path is for, and the segments after the first; nil if there is none.
    static func read(_ path: Substring) -> (kind: Kind, segments: [String])? {
        let segments = path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard segments.count >= 3, segments[0].isEmpty else { return nil }
        switch (segments[1], segments.count) {
        case ("push", 3): return (.subscription, [segments[2]])
        case ("m", 4): return (.message, [segments[2], segments[3]])
        case ("r", 3): return (.receipts, [segments[2]])
        case ("send", 4): return (.device, [segments[2], segments[3]])
        case ("r", 4): return (.receipt, [segments[2], segments[3]])
        default: return nil
        }
    }

    /// The URL of a subscription.
    func subscription(of device: DeviceIdentity, _ number: RegistrationNumber) -> String {
        subscriptionPrefix + codec.seal(device, number).hex
    }

    /// The URL of a message.
    func message(_ row: QueueRow, of device: DeviceIdentity, _ number: RegistrationNumber) -> String {
        "\(origin)/m/\(codec.seal(device, number).hex)/\(codec.seal(row).hex)"
    }

    /// The URL of a receipt subscription.
    func receipts(_ subscription: ReceiptSubscription) -> String {
        "\(origin)/r/\(codec.seal(subscription).hex)"
    }

    /// The members of a receipt for its sender: the URL of the message, the status with which RFC 8030, section 6.3,
    /// says how it has ended, and the URL with which the receipt is removed.
    func members(of receipt: Receipt) -> [String: JSONValue] {
        [
            "message": .string(message(receipt.row, of: receipt.device, receipt.registration)),
            "status": .integer(receipt.outcome == .delivered ? 204 : 410),
            "receipt": .string("\(receipts(receipt.subscription))/\(codec.seal(receipt.row).hex)"),
        ]
    }

    /// The receipt subscription that a segment names; nil if it was not sealed here.
    func receipts(_ segment: String) -> ReceiptSubscription? {
        DeviceToken(hex: segment).flatMap { codec.openReceipts($0) }
    }

    /// The receipt subscription of a URL, or of its path; nil if it was not sealed here.
    func receipts(at url: String) -> ReceiptSubscription? {
        url.split(separator: "/").last.flatMap { receipts(String($0)) }
    }

    /// The subscription that a segment names; nil if it was not sealed here.
    func subscription(_ segment: String) -> (device: DeviceIdentity, registration: RegistrationNumber)? {
        DeviceToken(hex: segment).flatMap { codec.open($0) }
    }

    /// The row that a segment names; nil if it was not sealed here.
    func row(_ segment: String) -> QueueRow? { DeviceToken(hex: segment).flatMap { codec.openRow($0) } }
}

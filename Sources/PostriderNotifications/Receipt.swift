/// Where a sender of Web Push gets its receipts (RFC 8030, section 5.1): several messages may share one. It has the
/// form of a device identity, so that it is sealed in URLs as device tokens are, and has a home as devices have.
public struct ReceiptSubscription: Hashable, Sendable {
    /// 12 bytes that the relay has drawn at random.
    public let identity: DeviceIdentity

    /// Creates it from its bytes.
    public init(_ identity: DeviceIdentity) { self.identity = identity }
}

/// What a sender of Web Push is told about one message (RFC 8030, section 6.3): once, when the message has ended.
public struct Receipt: Hashable, Sendable {
    /// How a message has ended. The stores contain these numbers.
    public enum Outcome: Int64, Sendable {
        /// The device has acknowledged it.
        case delivered = 1
        /// It has ended without the device's acknowledgement: it expired, or was replaced, dropped or cancelled.
        case ended = 2
    }

    /// The row of the message.
    public let row: QueueRow
    /// The device of the message.
    public let device: DeviceIdentity
    /// The registration of the message.
    public let registration: RegistrationNumber
    /// Where its sender gets it.
    public let subscription: ReceiptSubscription
    /// From when on it is not kept, whether its sender has it or not.
    public let expiresAt: Moment
    /// How the message has ended; nil while it waits for its device. Then the receipt is only promised.
    public var outcome: Outcome?

    /// Creates a receipt from its parts.
    public init(
        row: QueueRow, device: DeviceIdentity, registration: RegistrationNumber,
        subscription: ReceiptSubscription, expiresAt: Moment, outcome: Outcome? = nil
    ) {
        self.row = row
        self.device = device
        self.registration = registration
        self.subscription = subscription
        self.expiresAt = expiresAt
        self.outcome = outcome
    }
}

/// A change of the stored receipts. Each is idempotent.
public enum ReceiptChange: Hashable, Sendable {
    /// Stores a receipt, and replaces the one of the same row.
    case put(Receipt)
    /// Removes the receipt of a row. It is no error if there is none.
    case remove(QueueRow)

    /// The row of the receipt.
    public var row: QueueRow {
        switch self {
        case .put(let receipt): receipt.row
        case .remove(let row): row
        }
    }
}

import PostriderNotifications
import PostriderWebPush

/// What a sender of Web Push wants of the home of a device, or of a receipt subscription. It is answered once.
enum SenderRequest: Sendable {
    /// To deliver a message, whose form is checked.
    case push(WebPush)
    /// To deliver a script's message to this device, which it has named.
    case send(PlainSend, DeviceIdentity)
    /// To cancel the message at this row.
    case cancel(DeviceIdentity, RegistrationNumber, QueueRow)
    /// To tell it receipts. If there is none it waits for the first, for so many seconds.
    case readReceipts(ReceiptSubscription, seconds: Int)
    /// To remove the receipt of this row, which the sender has.
    case removeReceipt(ReceiptSubscription, QueueRow)

    /// The identity whose home is asked: that of the device, or of the receipt subscription.
    var subject: DeviceIdentity {
        switch self {
        case .push(let push): push.device
        case .send(_, let device), .cancel(let device, _, _): device
        case .readReceipts(let subscription, _), .removeReceipt(let subscription, _): subscription.identity
        }
    }

    /// Whether it is a message for a device.
    var isMessage: Bool {
        switch self {
        case .push, .send: true
        case .cancel, .readReceipts, .removeReceipt: false
        }
    }

    /// The bytes of the message that it carries.
    var byteCount: Int {
        switch self {
        case .push(let push): push.request.body.count
        case .send(let send, _): send.message.payload.count
        case .cancel, .readReceipts, .removeReceipt: 0
        }
    }
}

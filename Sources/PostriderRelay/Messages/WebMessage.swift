import PostriderNotifications
import PostriderWebPush

/// The messages about Web Push.
enum WebMessage: Sendable {
    /// To the device's home: a sender's request, whose form is checked.
    case push(WebPush, ReplyAddress)
    /// To the sender's shard, before the answer: the message has this row.
    case queued(ReplyAddress, QueueRow)
    /// To the device's home: the sender cancels the message at this row.
    case cancel(DeviceIdentity, RegistrationNumber, QueueRow, ReplyAddress)
    /// To the sender's shard: the receipt that it wants is durable, and so is its message; or it cannot be had.
    case promised(ReplyAddress, isDurable: Bool)
    /// To the home of its subscription: a receipt, which is durable.
    case receipt(Receipt)
    /// To the home of a receipt subscription: a sender asks for receipts, and waits for so many seconds.
    case readReceipts(ReceiptSubscription, ReplyAddress, seconds: Int)
    /// To the sender's shard: receipts that it has asked for.
    case receipts([Receipt], ReplyAddress)
    /// To the home of a receipt subscription: a sender has the receipt of this row.
    case removeReceipt(ReceiptSubscription, QueueRow, ReplyAddress)
    /// To the sender's shard: what it wanted removed is gone, and will not come back.
    case removed(ReplyAddress)
    /// To the sender's shard: the request was refused.
    case refused(WebPushRejection, ReplyAddress)
    /// To shard 0: a script's message for a device that it names.
    case findDevice(PlainSend, ReplyAddress)
    /// To the device's home: the same.
    case send(PlainSend, DeviceIdentity, ReplyAddress)
    /// To the home: a browser has presented this identity on another shard. Its connection is in
    /// ``ConnectionsInTransit`` under this number.
    case arrived(connection: UInt64)
}

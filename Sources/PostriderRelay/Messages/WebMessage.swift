import PostriderNotifications
import PostriderWebPush

/// The messages about Web Push.
enum WebMessage: Sendable {
    /// To the home of a device, or of a receipt subscription: a sender's request.
    case request(SenderRequest, ReplyAddress)
    /// To the sender's shard: its message is accepted, and has this row. If it wants a receipt, that cannot be lost any
    /// more, unless the sender gets none.
    case accepted(ReplyAddress, QueueRow, hasReceipt: Bool)
    /// To the sender's shard: receipts that it has asked for.
    case receipts([Receipt], ReplyAddress)
    /// To the sender's shard: what it wanted removed is gone, and will not come back.
    case removed(ReplyAddress)
    /// To the sender's shard: the request was refused.
    case refused(WebPushRejection, ReplyAddress)
    /// To the home of its subscription: a receipt, which is durable.
    case receipt(Receipt)
    /// To shard 0: which device a script means, by a name or an identity.
    case findDevice(String, ReplyAddress)
    /// To the sender's shard: the device that a script means.
    case found(Result<DeviceIdentity, Rejection>, ReplyAddress)
    /// To the home: a browser has presented this identity on another shard. Its connection is in
    /// ``ConnectionsInTransit`` under this number.
    case arrived(connection: UInt64)
}

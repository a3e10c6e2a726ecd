import PostriderNotifications

/// The reply address of a push: the shard, connection and stream that wait for its answer.
struct ReplyAddress: Sendable, Hashable {
    /// The provider's shard.
    let shard: Int32
    /// The HTTP/2 stream.
    let stream: Int32
    /// The number of the connection, which is never used again.
    let connection: UInt64
}

/// The answer to a push.
enum PushResult: Sendable, Equatable {
    /// 200: it is on the disk, or acknowledged by the device, or was not to be stored.
    case accepted
    /// The status of this reason; with a 410, the moment since when the token is invalid.
    case rejected(Rejection, since: Moment? = nil)
}

import PostriderNotifications

/// The return address of a push: which stream of which connection on which shard waits for the answer.
struct ReplyAddress: Sendable, Hashable {
    /// The provider's shard.
    let shard: Int32
    /// The HTTP/2 stream.
    let stream: Int32
    /// The connection, by a number that is never used again.
    let connection: UInt64
}

/// What a provider is told of its push.
enum PushResult: Sendable, Equatable {
    /// 200: it is on the disk, or in the device's hands, or was now or never.
    case accepted
    /// The reason's status; with a 410, since when the token is dead.
    case rejected(Rejection, since: Moment? = nil)
}

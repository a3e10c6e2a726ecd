/// The reply address of a push: the shard, connection and stream that wait for its answer.
package struct ReplyAddress: Sendable, Hashable {
    /// The provider's shard.
    package let shard: Int32
    /// The HTTP/2 stream.
    package let stream: Int32
    /// The number of the connection, which is never used again.
    package let connection: UInt64

    /// An address from its parts.
    package init(shard: Int32, stream: Int32, connection: UInt64) {
        (self.shard, self.stream, self.connection) = (shard, stream, connection)
    }
}

/// The answer to a push.
package enum PushResult: Sendable, Equatable {
    /// 200: it is on the disk, or acknowledged by the device, or was not to be stored.
    case accepted
    /// The status of this reason; with a 410, the moment since when the token is invalid.
    case rejected(Rejection, since: Moment? = nil)
}

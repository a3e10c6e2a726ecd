import PostriderNotifications

/// The bounds of messages between shards.
extension Limits {
    /// Bytes of one message that a shard sends to a shard of another process.
    static let shardMessageBytes = 256 * 1024
}

import PostriderNotifications

extension Limits {
    /// The most shards of a node: as many numbers as a ``ShardPlace`` has for them.
    static let shardsOfNode = 1 << 10
    /// Pushes that wait for an answer over one link. Further ones get 429.
    static let nodeRequests = 20_000
}

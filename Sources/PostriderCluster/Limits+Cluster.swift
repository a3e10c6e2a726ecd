public import PostriderNotifications

extension Limits {
    /// Nodes in a cluster. A node has at most two links to each other one.
    public static let nodes = 64
    /// Numbers of links between nodes, from 1 to one less than this.
    public static let nodeLinkNumbers = 1 << 20
    /// Partitions that a node gives up at a time in favour of others: one in sixty-four, so that few devices have to
    /// come back at once.
    public static let partitionsGivenUp = 16
}

package import PostriderNotifications

extension Limits {
    /// Milliseconds between two PINGs on a link between nodes. After three silent ones a node is taken for dead.
    package static let nodePingMilliseconds = 500
    /// The most bytes of a message between nodes: a message between shards, with some more for what a newer version may
    /// add.
    package static let nodeMessageBytes = 512 * 1024
    /// Bytes that wait for another node before it gets no more requests, which are refused instead.
    package static let nodeLinkBytes = 8 << 20
    /// Bytes that wait for another node before the link is cut: answers of this node that the other one does not read.
    package static let nodeLinkMostBytes = 32 << 20
    /// The most bytes of the sentence with which a node refuses another one.
    package static let nodeRefusalBytes = 500
    /// The most milliseconds between two attempts to reach another node. The first pause is 100 milliseconds.
    package static let nodeRetryMilliseconds = 2000
}

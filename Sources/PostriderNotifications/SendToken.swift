/// A token with which scripts send alerts to devices by plain HTTP requests. The relay keeps only its digest.
public struct SendTokenRecord: Hashable, Sendable {
    /// The name that the operator gave it.
    public let name: String
    /// SHA-256 of the token's text.
    public let digest: [UInt8]
    /// The topics to which it may send, in order.
    public let topics: [Topic]
    /// When it was added.
    public let addedAt: Moment

    /// Creates a record from its parts.
    public init(name: String, digest: [UInt8], topics: [Topic], addedAt: Moment) {
        self.name = name
        self.digest = digest
        self.topics = topics
        self.addedAt = addedAt
    }
}

import PostriderNotifications

extension Limits {
    /// The most shards of a node: as many numbers as a ``ShardPlace`` has for them.
    static let shardsOfNode = 1 << 10
    /// Pushes that wait for an answer over one link. Further ones get 429.
    static let nodeRequests = 20_000
    /// Bytes of one piece of a node's answer to another node.
    static let nodeAnswerPieceBytes = 128 * 1024
    /// Milliseconds that a node may be silent before its answer, or the next piece of it, is taken for missing.
    static let nodeAnswerMilliseconds = 3_000
    /// Milliseconds that a whole answer of another node may take, besides what it waits for a push.
    static let wholeAnswerMilliseconds = 30_000
    /// Questions to other nodes that wait for answers. Further ones are not asked.
    static let nodeQuestions = 1_024
    /// Bytes of answers whose further pieces wait until another node wants them.
    static let keptAnswerBytes = 2 * controlAnswerBytes
    /// Absent devices in one question to other nodes whether others have taken their places.
    static let absentDevicesAtOnce = 1_000
    /// Milliseconds for which a provider's request waits at most while its partition has no home. Others take the
    /// partitions of a dead node within about two seconds.
    static let movingMilliseconds = 3_000
    /// Milliseconds after which a shard looks whether devices to which it sends nothing have their home there again.
    static let pauseMilliseconds = 50
    /// Milliseconds that count at least as waiting each time.
    static let leastMovingMilliseconds: UInt64 = 100
    /// Requests that wait on one shard because their partitions have no home. Further ones get 503.
    static let movingRequests = 10_000
    /// Bytes of the payloads of these requests.
    static let movingBytes = 8 << 20
    /// How many of these may be of one connection: a quarter of its streams.
    static let movingRequestsOfConnection = Int(providerStreams / 4)
    /// Bytes a second that one device may send through an edge on average, because all devices of a node share its
    /// link, and four seconds of it at once. The acknowledgements of 1000 notifications a second take 10 KiB.
    static let edgeBytesPerSecond = 256 * 1024
    /// Bytes of the address of a device's machine, as one node tells it another one.
    static let hostBytes = 255
    /// Identities that are drawn for a new device until one belongs to its node. If a node has a single one of all
    /// partitions, one of 17,000 enrolments finds none.
    static let identityDraws = 10_000
    /// How many milliseconds a device waits that has lost its home on this node, before it comes back to its new one.
    static let movedMilliseconds: Range<UInt32> = 200..<1_200
    /// How many milliseconds a device waits that could not be passed on to its home, before it comes back.
    static let postponedMilliseconds: Range<UInt32> = 1_000..<3_000
}

import PostriderChannels
import PostriderCluster
import PostriderNotifications
import PostriderProviderAPI
import RelayFixtures

/// A channel of a ``NodesWorld``.
struct NodesWorldChannel {
    let owner: ChannelOwner
    let storage: ChannelStorage
    /// Its name, once its creation is answered.
    var identity: ChannelIdentity?
    /// The events in which its deletion was ordered, and answered with 204.
    var deletionOrderedAt: Int?
    var deletedAt: Int?
}

/// A broadcast of a ``NodesWorld``. It is posted once.
struct NodesWorldBroadcast {
    enum Status {
        case open
        case accepted
        /// Nobody knows whether it was accepted.
        case unknown
    }

    let number: Int
    let channel: Int
    let isStored: Bool
    /// Where and in which event it was posted.
    let place: (node: FixtureNode, shard: Int)
    let postedAt: Int
    /// Who was subscribed when it was posted, if nothing fails.
    let audience: [(device: NodesWorldDevice, link: NodesWorldLink)]
    var status = Status.open
    /// The event in which it was answered.
    var answeredAt: Int?

    var identity: NotificationIdentity { NotificationIdentity(high: 0xB, low: UInt64(number)) }

    /// Whether this broadcast was accepted, and another one was posted after that, or later over the same connection.
    func precedes(_ other: NodesWorldBroadcast) -> Bool {
        guard status == .accepted, channel == other.channel else { return false }
        let isSamePlace = place.node === other.place.node && place.shard == other.place.shard
        return answeredAt ?? .max < other.postedAt
            || isSamePlace && number < other.number && other.status == .accepted
    }
}

/// What a device has of channels.
struct NodesWorldSubscriptions {
    /// The channels that it wants.
    var wanted: Set<Int> = []
    /// Those that were confirmed on the present link.
    var confirmed: Set<Int> = []
    /// The broadcasts that it got of each channel, in the order of first arrivals.
    var heard: [Int: [Int]] = [:]
    /// The last one of each channel, and when it was accepted.
    var last: [Int: (identity: NotificationIdentity, acceptedAt: Moment)] = [:]
}

/// The channels of a ``NodesWorld`` and the orders of its providers.
struct NodesWorldChannels {
    /// What an order is about.
    enum Wish {
        case create(Int)
        case remove(Int)
        case broadcast(Int)
    }

    /// An order that has no answer.
    struct Order {
        let wish: Wish
        let node: FixtureNode
        let number: Int32
    }

    var all: [NodesWorldChannel] = []
    var broadcasts: [NodesWorldBroadcast] = []
    var orders: [Order] = []
    var lastOrder: Int32 = 0

    /// How many broadcasts were accepted.
    var accepted: Int { broadcasts.count { $0.status == .accepted } }

    /// Those that exist, and whose deletion nobody has ordered.
    var alive: [Int] { all.indices.filter { all[$0].identity != nil && all[$0].deletionOrderedAt == nil } }

    func index(of identity: ChannelIdentity) -> Int? { all.firstIndex { $0.identity == identity } }

    /// The broadcasts of a channel of which the last accepted one is one.
    func lastOnes(of channel: Int) -> [NodesWorldBroadcast] {
        let own = broadcasts.filter { $0.channel == channel }
        return own.filter { one in
            !own.contains { $0.status == .accepted && one.answeredAt ?? .max < $0.postedAt }
        }
    }

    /// Apps whose channels belong to partitions of a ``NodesWorld``.
    static let topics: [Topic] = {
        var topics: [Topic] = []
        var number = 0
        while topics.count < 2 {
            number += 1
            let topic = Samples.named("com.example.app\(number)")
            let owner = ChannelOwner(topic: topic, environment: .production)
            if Partition(of: owner).number < NodesWorld.partitions { topics.append(topic) }
        }
        return topics
    }()

    /// The access policy that knows these apps.
    static let authority = AccessPolicy(
        generation: 1, providerKeys: [],
        topics: ([Samples.topic] + topics).map { TopicRecord(topic: $0, team: "TEAM000001") },
        enrolmentKeys: [], log: .none)
}

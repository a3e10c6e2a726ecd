import PostriderCluster
import PostriderNotifications

/// The requests that wait on one shard for one partition.
struct WaitingQueue {
    /// A request that waits.
    struct Item {
        let request: WaitingRequest
        /// When it came.
        let since: UInt64
        /// When it is answered at the latest.
        let deadline: UInt64
    }

    /// Requests of this shard's providers, in order. The first `returned` of them were sent to a former home.
    private(set) var own: [Item] = []
    private var returned = 0
    /// Requests that have come to their home, in order.
    private(set) var arrived: [Item] = []
    /// The recalls that are not answered. Nothing of this shard's providers is sent before they are.
    var recalls = 0

    var isEmpty: Bool { own.isEmpty && arrived.isEmpty && recalls == 0 }

    /// Adds a request of this shard's providers.
    mutating func add(_ item: Item) { own.append(item) }

    /// Adds a request that has come to its home.
    mutating func arrive(_ item: Item) { arrived.append(item) }

    /// A former home has returned a request: it goes before what was not sent.
    mutating func takeBack(_ item: Item) {
        own.insert(item, at: returned)
        returned += 1
    }

    /// Removes and returns the requests of this shard's providers.
    mutating func takeOwn() -> [Item] {
        defer { (own, returned) = ([], 0) }
        return own
    }

    /// Removes and returns what has come to its home.
    mutating func takeArrived() -> [Item] {
        defer { arrived = [] }
        return arrived
    }

    /// Removes and returns what has come to its home from this place (a ``ShardPlace``).
    mutating func takeArrived(from place: Int) -> [Item] { takeArrived { $0 == ShardPlace(place) } }

    /// Removes and returns what has come to its home over this link.
    mutating func takeArrived(over link: Int) -> [Item] { takeArrived { $0.link == link } }

    private mutating func takeArrived(where isWanted: (ShardPlace) -> Bool) -> [Item] {
        let isWanted = { (item: Item) in isWanted(ShardPlace(Int(item.request.address.shard))) }
        let some = arrived.filter(isWanted)
        if !some.isEmpty { arrived.removeAll(where: isWanted) }
        return some
    }

    /// Removes and returns what has waited for too long.
    mutating func takeLate(at now: UInt64) -> [Item] {
        let late = (own + arrived).filter { $0.deadline <= now }
        guard !late.isEmpty else { return [] }
        returned -= own.prefix(returned).count { $0.deadline <= now }
        own.removeAll { $0.deadline <= now }
        arrived.removeAll { $0.deadline <= now }
        return late
    }
}

/// A shard has asked a former home of partitions to return its requests.
struct RequestRecall {
    let partitions: [Partition]
    /// The link to the former home; nil if that is this node.
    let link: Int?
    /// The shards that have not answered; nil as long as their number is not known.
    var left: Int?
    /// When it counts as answered.
    let deadline: UInt64
}

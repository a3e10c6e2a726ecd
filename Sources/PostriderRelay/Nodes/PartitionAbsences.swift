import PostriderCluster
import PostriderNotifications

/// Since when partitions have no home that can be reached. As long as that is short, a new home is expected, and
/// requests wait for it (``PartitionPlaces/Place/moving``).
struct PartitionAbsences {
    private var since: [UInt64?] = []

    /// When requests for a partition do not wait any more, because it has no home for too long; nil if none is waited
    /// for.
    private(set) var nextEnd: UInt64?

    private static let patience = UInt64(Limits.movingMilliseconds) * 1_000_000

    /// The same places, where those without a home for a short time are moving.
    mutating func mark(_ places: PartitionPlaces, at now: UInt64) -> PartitionPlaces {
        if since.count != places.count { since = Array(repeating: nil, count: places.count) }
        var firstEnd: UInt64?
        let marked = places.moving { partition in
            let end = (since[partition.number] ?? now) + Self.patience
            guard now < end else { return false }
            firstEnd = min(firstEnd ?? end, end)
            return true
        }
        nextEnd = firstEnd
        for number in since.indices {
            let hasHome = places.place(of: Partition(number)) != .nowhere
            since[number] = hasHome ? nil : since[number] ?? now
        }
        return marked
    }
}

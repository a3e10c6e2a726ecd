import PostriderCluster
import PostriderNotifications

/// What the store held at start-up, or has of the partitions that the node has taken.
struct LoadedStore: Sendable {
    var registry: Registry
    /// The partitions that were read; nil at the start, when everything is read.
    var partitions: Set<Partition>?
    /// By shard: the queue entries of its devices, in the order of rows.
    var entries: [[QueueEntry]]
    var lastRow: QueueRow
    /// All receipts, in the order of rows.
    var receipts: [Receipt]

    /// Reads everything that the shards need.
    init(_ store: any Store, shards: Int) throws(StoreError) {
        registry = try store.loadRegistry()
        var entries = [[QueueEntry]](repeating: [], count: shards)
        lastRow = try store.scanQueue { entries[$0.device.home(among: shards)].append($0) }
        self.entries = entries
        receipts = try store.loadReceipts()
    }

    /// Reads what the shards need of partitions that the node has taken.
    init(_ store: any PartitionStore, _ partitions: Set<Partition>, shards: Int) throws(StoreError) {
        var entries = [[QueueEntry]](repeating: [], count: shards)
        registry = try store.load(partitions) { entries[$0.device.home(among: shards)].append($0) }
        self.partitions = partitions
        self.entries = entries
        lastRow = entries.compactMap { $0.last?.row }.max() ?? QueueRow(0)
        receipts = try store.loadReceipts(of: partitions)
    }
}

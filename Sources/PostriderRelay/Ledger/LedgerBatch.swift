import PostriderCluster
import PostriderNotifications

/// Commands to the ledger, sorted for one transaction.
struct LedgerBatch {
    /// Changes of the registry, and the shard that waits for their result.
    typealias RegistryOrder = (changes: [RegistryChange], shard: Int, ticket: UInt64)

    var queue = QueueBatch()
    var registryChanges: [RegistryOrder] = []
    /// The shards that want to know the result of the batch.
    var confirmations: [(shard: Int, ticket: UInt64)] = []
    var loads: [(device: DeviceIdentity, rows: [QueueRow])] = []
    /// The shards that want to know what every node has of the registry.
    var readings: [(shard: Int, ticket: UInt64)] = []
    var backups: [BackupRequest] = []
    var takings: [(partitions: Set<Partition>, above: QueueRow)] = []
    var closes = false
    /// Whether the batch also has to let the store remove doubtful rows.
    var endsDoubt = false
    /// The index of each of the first ``queue`` entries by row. It is built only if a row may be settled in the batch
    /// that stores it.
    private var places: [QueueRow: Int] = [:]
    private var placed = 0
    private var lowest = QueueRow(.max)

    /// Adds a command. A row that is stored and settled in the same batch is removed from it.
    mutating func add(_ message: LedgerCommand) {
        switch message {
        case .store(let queued, _):
            lowest = min(lowest, queued.row)
            queue.enqueued.append(queued)
        case .settle(let row):
            if row >= lowest, let place = takePlace(of: row) {
                annihilate(place)
            } else {
                queue.settled.append(row)
            }
        case .receipt(let change):
            queue.receipts.append(change)
        case .load(let device, let rows):
            loads.append((device, rows))
        case .apply(let changes, let shard, let ticket):
            registryChanges.append((changes, shard, ticket))
        case .readShared(let shard, let ticket):
            readings.append((shard, ticket))
        case .confirm(let shard, let ticket):
            confirmations.append((shard, ticket))
        case .backUp(let order):
            backups.append(order)
        case .take(let partitions, let row):
            takings.append((partitions, row))
        case .close:
            closes = true
        }
    }

    private mutating func takePlace(of row: QueueRow) -> Int? {
        while placed < queue.enqueued.count {
            places[queue.enqueued[placed].row] = placed
            placed += 1
        }
        return places.removeValue(forKey: row)
    }

    /// Removes a queued notification by putting the last one in its place.
    private mutating func annihilate(_ place: Int) {
        let last = queue.enqueued.removeLast()
        placed -= 1
        guard place < queue.enqueued.count else { return }
        queue.enqueued[place] = last
        places[last.row] = place
    }
}

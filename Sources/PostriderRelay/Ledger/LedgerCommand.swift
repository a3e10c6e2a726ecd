import PostriderCluster
import PostriderNotifications

/// The commands of shards to the ledger.
enum LedgerCommand: Sendable {
    /// Make the notification durable, then tell the device's home. `postedAt` is in monotonic nanoseconds.
    case store(QueuedNotification, postedAt: UInt64)
    /// The notification is settled: remove it.
    case settle(QueueRow)
    /// Make a change of the receipts durable. One that follows from a notification's end is sent before ``settle(_:)``.
    case receipt(ReceiptChange)
    /// Read stored notifications of a device.
    case load(DeviceIdentity, [QueueRow])
    /// Apply changes to the registry, all or none, then tell the shard.
    case apply([RegistryChange], shard: Int, ticket: UInt64)
    /// Read what every node of the cluster has of the registry, then tell the shard.
    case readShared(shard: Int, ticket: UInt64)
    /// Tell the shard when everything before this is committed, or could not be.
    case confirm(shard: Int, ticket: UInt64)
    /// Copy the store as it is after everything before this is committed, then tell the shard.
    case backUp(BackupRequest)
    /// Read partitions that the node has taken, and give them to the shards. Their rows begin above this one.
    case take(Set<Partition>, above: QueueRow)
    /// Commit everything before this, then close the store and stop.
    case close

    /// Whether a commit may be delayed although this command waits: only providers wait for it.
    var canWait: Bool {
        switch self {
        case .store, .settle, .receipt, .confirm: true
        case .load, .apply, .readShared, .backUp, .take, .close: false
        }
    }
}

/// A copy of the store that the operator wants.
struct BackupRequest: Sendable {
    /// The absolute path of the directory to create.
    let directory: String
    /// The shard that waits for the end of the copy, and its number for the request.
    let shard: Int
    let ticket: UInt64
}

import PostriderNotifications

/// What shards tell the ledger.
enum LedgerCommand: Sendable {
    /// Make it durable, then tell the device's home. Posted at this moment, in monotonic nanoseconds.
    case store(QueuedNotification, postedAt: UInt64)
    /// It is settled: remove it.
    case settle(QueueRow)
    /// Fetch stored notifications of a device.
    case load(DeviceIdentity, [QueueRow])
    /// Apply changes to the registry, all or none, then tell the shard.
    case apply([RegistryChange], shard: Int, ticket: UInt64)
    /// Copy the store as it is when everything before this is committed, then tell the shard.
    case backUp(BackupOrder)
    /// Commit everything before this, then close the store and stop.
    case close

    /// Whether a commit may be put off for it: nobody but a provider waits for it.
    var canWait: Bool {
        switch self {
        case .store, .settle: true
        case .load, .apply, .backUp, .close: false
        }
    }
}

/// A copy of the store that the operator wants.
struct BackupOrder: Sendable {
    /// The directory to make; absolute.
    let directory: String
    /// The shard that waits for the end of the copy, and its number for the order.
    let shard: Int
    let ticket: UInt64
}

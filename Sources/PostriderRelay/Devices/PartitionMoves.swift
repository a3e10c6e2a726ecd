import PostriderCluster
import PostriderCourier
import PostriderDeviceQueue
import PostriderNotifications
import PostriderTransport

/// Takes devices and channels over from other nodes of the cluster, and gives them up: one shard's part of that.
struct PartitionMoves {
    private let context: ShardContext
    private let home: DeviceHome
    private let changes: RegistryChanges
    private let directory: DeviceDirectory
    private let channels: ChannelHome

    init(
        _ context: ShardContext, _ home: DeviceHome, _ changes: RegistryChanges, _ directory: DeviceDirectory,
        _ channels: ChannelHome
    ) {
        self.context = context
        self.home = home
        self.changes = changes
        self.directory = directory
        self.channels = channels
    }

    /// Adds the devices of partitions that this node has taken. Nobody is told yet that they have their home here.
    func take(_ loaded: LoadedStore) {
        home.restore(loaded)
        channels.take(loaded.registry, of: loaded.partitions ?? [])
        if context.index == 0 { directory.restore(loaded.registry) }
    }

    /// Gives up the devices of these partitions, which get no more pushes here: they are told to come back, and
    /// everything that was accepted for them is answered before they are forgotten. Calls `then` after that.
    func leave(_ partitions: Set<Partition>, then: @escaping () -> Void) {
        for entry in entries(of: partitions) {
            entry.session?.leave(
                .shutdown, retryAfterMilliseconds: jitter, "another node serves the device from now on")
        }
        home.stores.storeAll()
        changes.confirm { [self] _ in
            for entry in entries(of: partitions) { home.forget(entry) }
            channels.forget(partitions)
            if context.index == 0 { directory.forget { partitions.contains(Partition(of: $0)) } }
            then()
        }
    }

    /// The devices of partitions, in an order that does not depend on hashes, because the same seed has to lead to the
    /// same run.
    private func entries(of partitions: Set<Partition>) -> [DeviceEntry] {
        home.entries.values.filter { partitions.contains(Partition(of: $0.identity)) }
            .sorted { ($0.identity.high, $0.identity.low) < ($1.identity.high, $1.identity.low) }
    }

    /// When a device is to come back, in milliseconds. They come one after the other, and find their new home ready.
    private var jitter: UInt32 {
        Limits.movedMilliseconds.lowerBound
            + UInt32(context.random.next() % UInt64(Limits.movedMilliseconds.count))
    }
}

extension DeviceHome {
    /// Whether another node may serve a device by now.
    func isElsewhere(_ device: DeviceIdentity) -> Bool {
        context.outbox.isElsewhere(device, at: context.scheduler.now)
    }

    /// Another node is the home of a device from now on. Everything that was accepted for it is answered.
    func forget(_ entry: DeviceEntry) {
        entry.session?.leave(.shutdown, retryAfterMilliseconds: 0, "another node serves the device")
        if entry.session != nil { connectionEnded(of: entry, .relayStopped) }
        with(entry) { device, _, tally, effects in device.movedAway(&tally, &effects) }
        entries[entry.identity] = nil
    }
}

extension Limits {
    /// How many milliseconds a device waits that has lost its home on this node, before it comes back.
    static let movedMilliseconds: Range<UInt32> = 200..<1_200
}

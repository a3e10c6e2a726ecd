import PostriderCluster
import PostriderCourier
import PostriderDeviceQueue
import PostriderNotifications

/// Takes devices and channels over from other nodes of the cluster, and gives them up: one shard's part of that.
struct PartitionMoves {
    private let context: ShardContext
    private let home: DeviceHome
    private let changes: RegistryChanges
    private let directory: DeviceDirectory
    private let channels: ChannelHome
    private let web: WebHome

    init(
        _ context: ShardContext, _ home: DeviceHome, _ changes: RegistryChanges, _ directory: DeviceDirectory,
        _ channels: ChannelHome, _ web: WebHome
    ) {
        self.context = context
        self.home = home
        self.changes = changes
        self.directory = directory
        self.channels = channels
        self.web = web
    }

    /// Adds the devices of partitions that this node has taken. Nobody is told yet that they have their home here.
    func take(_ loaded: LoadedStore) {
        home.restore(loaded)
        channels.forget(loaded.partitions ?? [])
        channels.restore(loaded.registry)
        web.restore(loaded)
        guard context.index == 0 else { return }
        directory.restore(loaded.registry)
        directory.expectReturns(of: loaded.registry.presences)
    }

    /// Gives up the devices of these partitions, which get no more pushes here: they are told to come back, and
    /// everything that was accepted for them is answered before they are forgotten. Calls `then` after that.
    func leave(_ partitions: Set<Partition>, then: @escaping () -> Void) {
        let moved = moved(with: partitions)
        let leaving = entries(where: moved)
        home.journal.handOver(leaving)
        for entry in leaving {
            entry.beginMoving()
            entry.session?.leave(
                .shutdown, retryAfterMilliseconds: context.drawPause(in: Limits.movedMilliseconds),
                "another node serves the device from now on")
        }
        home.stores.storeAll()
        changes.confirm { [self] _ in
            for entry in entries(where: moved) { home.forget(entry) }
            channels.forget(partitions)
            web.forget(where: moved)
            if context.index == 0 { directory.forget(where: moved) }
            then()
        }
    }

    private func entries(where isMoved: (DeviceIdentity) -> Bool) -> [DeviceEntry] {
        home.entries.values.filter { isMoved($0.identity) }.inOrder
    }

    /// Whether a device is in one of these partitions. It is asked for every device of the node each time, so it looks
    /// into an array instead of the set.
    private func moved(with partitions: Set<Partition>) -> (DeviceIdentity) -> Bool {
        var flags = [Bool](repeating: false, count: Partition.count)
        for partition in partitions { flags[partition.number] = true }
        return { [flags] in flags[Partition(of: $0).number] }
    }
}

extension DeviceHome {
    /// Another node is the home of a device from now on. Everything that was accepted for it is answered.
    func forget(_ entry: DeviceEntry) {
        entry.session?.leave(.shutdown, retryAfterMilliseconds: 0, "another node serves the device")
        if entry.session != nil { connectionEnded(of: entry, .moved) }
        with(entry) { device, _, tally, effects in device.movedAway(&tally, &effects) }
        entries[entry.identity] = nil
    }
}

import PostriderNotifications

/// What a shard takes on when the relay is started.
extension Shard {
    /// Takes on what the store holds of the devices whose home this is.
    func restore(_ loaded: LoadedStore) {
        for record in loaded.registry.devices where home(of: record.identity) == index {
            entries[record.identity] = DeviceEntry(record)
        }
        for record in loaded.registry.registrations {
            guard let entry = entries[record.device] else { continue }
            entry.device.apply(record, &tally, &effects)
        }
        restoreChannels(loaded.registry)
        precondition(effects.isEmpty, "nothing is pending before it is restored")
        let strays = entries.distribute(loaded.entries[index]) { entry, entries in
            entry.keep(entries)
            tally.accepted += UInt64(entries.count)
            tally.pending += UInt64(entries.count)
        }
        // Their devices were removed, and the relay stopped before the queues were settled.
        for entry in strays { outbox.send(.settle(entry.row)) }
    }

    /// Something happens to a device: what was found on the disk for it becomes its queue.
    func settleIn(_ entry: DeviceEntry) {
        guard !entry.found.isEmpty else { return }
        let found = entry.takeFound()
        tally.accepted -= UInt64(found.count)
        tally.pending -= UInt64(found.count)
        for queued in found { entry.device.restore(queued, deviceRules, &tally, &effects) }
        perform(for: entry)
    }
}

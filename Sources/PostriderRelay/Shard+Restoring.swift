import PostriderNotifications

/// What a shard takes on when the relay is started.
extension Shard {
    /// Takes on what the store holds of the devices whose home this is.
    func restore(_ loaded: LoadedStore) {
        for record in loaded.registry.devices where home(of: record.identity) == index {
            seats[record.identity] = DeviceSeat(record)
        }
        for record in loaded.registry.registrations {
            guard let seat = seats[record.device] else { continue }
            seat.device.apply(record, &tally, &effects)
        }
        restoreChannels(loaded.registry)
        precondition(effects.isEmpty, "nothing is pending before it is restored")
        let strays = seats.distribute(loaded.entries[index]) { seat, entries in
            seat.keep(entries)
            tally.accepted += UInt64(entries.count)
            tally.pending += UInt64(entries.count)
        }
        // Their devices were removed, and the relay stopped before the queues were settled.
        for entry in strays { switchboard.send(.settle(entry.row)) }
    }

    /// Something happens to a device: what was found on the disk for it becomes its queue.
    func settleIn(_ seat: DeviceSeat) {
        guard !seat.found.isEmpty else { return }
        let found = seat.takeFound()
        tally.accepted -= UInt64(found.count)
        tally.pending -= UInt64(found.count)
        for entry in found { seat.device.restore(entry, deviceRules, &tally, &effects) }
        perform(for: seat)
    }
}

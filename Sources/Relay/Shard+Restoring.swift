import Notifications

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
        for entry in loaded.entries[index] {
            if let seat = seats[entry.device] {
                seat.keep(entry)
                tally.accepted += 1
                tally.pending += 1
            } else {
                // The device was removed, and the relay stopped before its queue was settled.
                switchboard.send(.settle(entry.row))
            }
        }
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

import PostriderDeviceQueue
import PostriderNotifications
import PostriderTransport

/// The devices of one shard that are connected, and to which nothing is sent for now, because another node of the
/// cluster may be their home.
///
/// A node's time may end while its threads do not run, and may be renewed later; both are no messages. A node that was
/// too slow to notice the end must not send what its successor may have delivered or replaced.
final class PausedDevices {
    private var identities: Set<DeviceIdentity> = []
    private var timer: (any LoopTimer)?

    /// Calls `look` some time after a device was added.
    func start(on scheduler: any Scheduler, then look: @escaping () -> Void) {
        timer = scheduler.makeTimer(look)
    }

    /// Adds a device.
    func add(_ identity: DeviceIdentity) {
        identities.insert(identity)
        if timer?.isArmed == false { timer?.arm(afterMilliseconds: Limits.pauseMilliseconds) }
    }

    /// Removes and returns the devices that need not wait any more; the others are looked at again.
    func take(where isServed: (DeviceIdentity) -> Bool) -> Set<DeviceIdentity> {
        let served = identities.filter(isServed)
        identities.subtract(served)
        if !identities.isEmpty { timer?.arm(afterMilliseconds: Limits.pauseMilliseconds) }
        return served
    }
}

extension DeviceHome {
    /// Pauses the connection of a device whose home may be another node by now, or lets it go on.
    func pauseIfElsewhere(_ entry: DeviceEntry) {
        guard entry.session != nil else { return }
        entry.device.isPaused = context.isElsewhere(entry.identity)
        if entry.device.isPaused { entries.paused.add(entry.identity) }
    }

    /// Goes on with devices that were paused and have their home here again. Those that have left are forgotten.
    func goOn() {
        let served = entries.paused.take { entries[$0]?.session == nil || !context.isElsewhere($0) }
        for entry in served.compactMap({ entries[$0] }).inOrder where entry.session != nil {
            with(entry) { device, now, tally, effects in device.goOn(now: now, &tally, &effects) }
        }
    }
}

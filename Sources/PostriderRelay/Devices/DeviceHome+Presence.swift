import PostriderCourier
import PostriderDeviceQueue
import PostriderNotifications

/// The presence of devices: whether they are connected, since when, and how they left.
extension DeviceHome {
    /// Takes over the presences that the registry has from an earlier process of the relay, or from another node. A
    /// device that was connected to that node was so until now.
    func restorePresence(_ registry: Registry, ofNode: Bool) {
        let run =
            registry.lastRun
            ?? RelayRun(
                startedAt: Moment(milliseconds: 0),
                aliveAt: ofNode ? context.now : Moment(milliseconds: 0))
        for record in registry.presences {
            guard let entry = entries[record.device] else { continue }
            var presence = record.presence.after(run)
            if ofNode, record.presence.isConnected { presence.ending = .moved }
            presence.isConnected = false
            presence.agent = agents.shared(presence.agent)
            entry.restore(presence)
        }
    }

    /// Says goodbye to the connection that a device has, because a newer one takes its place. Returns the older one.
    func replaceConnection(of entry: DeviceEntry) -> (any HomeSession)? {
        guard let older = entry.session else { return nil }
        entry.session = nil
        older.leave(.replaced, retryAfterMilliseconds: 0, "the device has a newer connection")
        return older
    }

    /// The connection of a device has ended. Notifications in flight are pending again.
    func connectionEnded(of entry: DeviceEntry, _ ending: DevicePresence.Ending) {
        entry.session = nil
        noteSeen(entry)
        noteLeft(entry, entry.presence.isMoving ? .moved : ending)
        with(entry) { device, _, tally, effects in device.disconnected(&tally, &effects) }
    }

    /// Notes that a device was welcomed.
    func noteConnected(
        _ entry: DeviceEntry, at address: String, agent: String, insteadOf older: (any HomeSession)?
    ) {
        let before = entry.presence.value
        let presence = DevicePresence(
            isConnected: true, since: context.now, address: address, agent: agents.shared(agent),
            ending: older == nil ? before.ending : .replaced)
        journal.note(presence, of: entry)
        tell(.connected, of: entry)
    }

    /// Notes that a device's link has ended.
    private func noteLeft(_ entry: DeviceEntry, _ ending: DevicePresence.Ending) {
        var presence = entry.presence.value
        (presence.isConnected, presence.since, presence.ending) = (false, context.now, ending)
        // In the registry a device that moves stays connected, for its new home.
        if ending == .moved { entry.restore(presence) } else { journal.note(presence, of: entry) }
        tell(.away, of: entry)
    }

    /// Adds an event for the followers on shard 0, if there are any; it is sent at the end of the turn.
    func tell(_ what: Control.DeviceEvent.What, of entry: DeviceEntry) {
        guard presence.hasListeners else { return }
        let presence = entry.presence.value
        events.append(
            Control.DeviceEvent(
                what: what, at: context.now.milliseconds, identity: entry.identity.description,
                name: entry.device.record.name, address: presence.address, agent: presence.agent,
                ending: what == .away ? presence.ending?.rawValue : nil))
    }

    /// Sends the events of this turn.
    func sendEvents() {
        guard !events.isEmpty else { return }
        context.outbox.send(.control(.devices(events)), to: 0)
        events = []
    }
}

/// Texts that many devices have in common, each stored once.
struct SharedTexts {
    private let most: Int
    private var texts: Set<String> = []

    /// Creates a table that shares at most this many different texts; all others are stored separately.
    init(most: Int) { self.most = most }

    /// Returns the same text, which shares its memory with earlier equal ones.
    mutating func shared(_ text: String) -> String {
        if let index = texts.firstIndex(of: text) { return texts[index] }
        if texts.count < most { texts.insert(text) }
        return text
    }
}

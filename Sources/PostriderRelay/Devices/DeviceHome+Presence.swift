import PostriderCourier
import PostriderNotifications

/// Which devices are connected, since when, and how they left.
extension DeviceHome {
    /// Takes on what the registry holds of an earlier run of the relay.
    func restorePresence(_ registry: Registry) {
        let run =
            registry.lastRun ?? RelayRun(startedAt: Moment(milliseconds: 0), aliveAt: Moment(milliseconds: 0))
        for record in registry.presences {
            guard let entry = entries[record.device] else { continue }
            var presence = record.presence.after(run)
            presence.isConnected = false
            presence.agent = agents.shared(presence.agent)
            entry.restore(presence)
        }
    }

    /// A device was welcomed.
    func noteConnected(
        _ entry: DeviceEntry, at address: String, agent: String, insteadOf older: DeviceSession?
    ) {
        let before = entry.presence.value
        let presence = DevicePresence(
            isConnected: true, since: context.now, address: address, agent: agents.shared(agent),
            ending: older == nil ? before.ending : .replaced)
        journal.note(presence, of: entry)
        tell(.connected, of: entry)
    }

    /// A device's link is over.
    func noteLeft(_ entry: DeviceEntry, _ ending: DevicePresence.Ending) {
        var presence = entry.presence.value
        (presence.isConnected, presence.since, presence.ending) = (false, context.now, ending)
        journal.note(presence, of: entry)
        tell(.away, of: entry)
    }

    /// Tells whoever follows the events of devices, on shard 0, at the end of the turn.
    func tell(_ what: Control.DeviceEvent.What, of entry: DeviceEntry) {
        guard presence.hasListeners else { return }
        let presence = entry.presence.value
        events.append(
            Control.DeviceEvent(
                what: what, at: context.now.milliseconds, identity: entry.identity.description,
                name: entry.device.record.name, address: presence.address, agent: presence.agent,
                ending: what == .away ? presence.ending?.rawValue : nil))
    }

    /// The end of a turn.
    func sendEvents() {
        guard !events.isEmpty else { return }
        context.outbox.send(.control(.devices(events)), to: 0)
        events = []
    }
}

/// Texts that many devices have in common, each kept once.
struct SharedTexts {
    private let most: Int
    private var texts: Set<String> = []

    /// Texts of which so many are shared; others are as they came.
    init(most: Int) { self.most = most }

    /// The same text, which all that have it share.
    mutating func shared(_ text: String) -> String {
        if let index = texts.firstIndex(of: text) { return texts[index] }
        if texts.count < most { texts.insert(text) }
        return text
    }
}

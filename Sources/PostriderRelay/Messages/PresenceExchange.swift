import PostriderNotifications
import Synchronization

/// What all threads of a relay share about the presence of devices.
final class PresenceExchange: Sendable {
    /// The start of the relay, by which the registry distinguishes its processes; nil to use each shard's own start.
    let startedAt: Moment?
    private let listeners = Atomic(0)

    init(startedAt: Moment? = nil) { self.startedAt = startedAt }

    /// Whether anybody listens to events; a shard checks this for each device that connects or leaves.
    var hasListeners: Bool { listeners.load(ordering: .relaxed) > 0 }

    /// Changes the number of listeners by 1 or -1.
    func count(_ change: Int) { listeners.add(change, ordering: .relaxed) }
}

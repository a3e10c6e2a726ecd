import PostriderNotifications
import Synchronization

/// What shards know about who wants to hear of devices that connect and leave. Shared by all threads of a relay.
final class PresenceExchange: Sendable {
    /// When the relay was started, by which the registry tells its runs apart; nil: each shard takes its own start.
    let startedAt: Moment?
    private let listeners = Atomic(0)

    init(startedAt: Moment? = nil) { self.startedAt = startedAt }

    /// Whether anybody wants to hear of events: a shard asks for each device that connects or leaves.
    var hasListeners: Bool { listeners.load(ordering: .relaxed) > 0 }

    /// One more wants to hear of events, or one less.
    func count(_ change: Int) { listeners.add(change, ordering: .relaxed) }
}

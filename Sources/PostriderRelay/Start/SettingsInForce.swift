import PostriderNotifications
import Synchronization

/// The configuration after the last reload, shared by all shards. A reload replaces it, then a message makes every
/// shard read it, so that no shard takes the lock for a push.
final class SettingsInForce: Sendable {
    private struct State {
        var configuration: RelayConfiguration
        var quotas: QuotaSet
        var unread: CountDownLatch?
    }

    private let state: Mutex<State>

    init(_ configuration: RelayConfiguration) {
        state = Mutex(State(configuration: configuration, quotas: QuotaSet(configuration.quotas)))
    }

    /// Replaces the configuration.
    ///
    /// - Parameter unread: counted down by every shard that has applied it.
    func replace(_ configuration: RelayConfiguration, unread: CountDownLatch) {
        state.withLock { state in
            let quotas = QuotaSet(configuration.quotas, after: state.quotas)
            state = State(configuration: configuration, quotas: quotas, unread: unread)
        }
    }

    /// The configuration, for a shard.
    var current: RelayConfiguration { state.withLock { $0.configuration } }

    /// The quotas of teams and topics, with what is used of them.
    var quotas: QuotaSet { state.withLock { $0.quotas } }

    /// A shard has applied it.
    func noteApplied() { state.withLock { $0.unread }?.countDown() }
}

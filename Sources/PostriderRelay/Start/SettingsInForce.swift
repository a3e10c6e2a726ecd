import Synchronization

/// The configuration after the last reload, shared by all shards. A reload replaces it, then a message makes every
/// shard read it, so that no shard takes the lock for a push.
final class SettingsInForce: Sendable {
    private let state: Mutex<(configuration: RelayConfiguration, unread: CountDownLatch?)>

    init(_ configuration: RelayConfiguration) { state = Mutex((configuration, nil)) }

    /// Replaces the configuration.
    ///
    /// - Parameter unread: counted down by every shard that has applied it.
    func replace(_ configuration: RelayConfiguration, unread: CountDownLatch) {
        state.withLock { $0 = (configuration, unread) }
    }

    /// The configuration, for a shard.
    var current: RelayConfiguration { state.withLock { $0.configuration } }

    /// A shard has applied it.
    func noteApplied() { state.withLock { $0.unread }?.countDown() }
}

import Synchronization

/// The relay's access policy, shared by all shards. An operator's change replaces it; then a message has every shard
/// read it, so that no shard takes the lock for a push.
final class PolicyInForce: Sendable {
    private let policy: Mutex<AccessPolicy>

    init(_ policy: AccessPolicy) { self.policy = Mutex(policy) }

    var current: AccessPolicy { policy.withLock { $0 } }

    /// Puts a newer policy in the place of the present one.
    func replace(_ newer: AccessPolicy) {
        policy.withLock { policy in
            precondition(newer.generation > policy.generation, "generations of the access policy rise")
            policy = newer
        }
    }
}

import PostriderProviderAPI
import Synchronization

/// The relay's current access policy, shared by all shards. The operator's change replaces it; then a message makes
/// every shard read it, so that no shard takes the lock for a push.
final class PolicyInForce: Sendable {
    private let policy: Mutex<AccessPolicy>
    /// How often enrolment keys were used.
    let uses: EnrolmentUses

    init(_ policy: AccessPolicy) {
        self.policy = Mutex(policy)
        uses = EnrolmentUses(policy.enrolmentKeys)
    }

    var current: AccessPolicy { policy.withLock { $0 } }

    /// Replaces the current policy by a newer one.
    func replace(_ newer: AccessPolicy) {
        policy.withLock { policy in
            precondition(newer.generation > policy.generation, "generations of the access policy rise")
            policy = newer
        }
    }
}

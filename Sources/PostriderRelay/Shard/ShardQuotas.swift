import PostriderNotifications
import PostriderProviderAPI
import PostriderTransport

/// The quotas of the relay, as one shard looks them up: without a lock after the first time. Confined to the shard's
/// thread.
struct ShardQuotas {
    /// The quotas after the last reload, which all shards share.
    private(set) var shared = QuotaSet([])
    private var isEmpty = true
    /// The quotas of topics, by the policy of this generation. Topics are those of the registry, and the one under
    /// which all subscriptions of Web Push are counted.
    private var known: [Topic: TopicQuotas?] = [:]
    private var generation: UInt64 = 0

    /// Whether nothing has a quota.
    var areNone: Bool { isEmpty }

    /// The relay has these quotas from now on.
    mutating func replace(_ quotas: QuotaSet) {
        shared = quotas
        isEmpty = quotas.isEmpty
        known = [:]
    }

    /// The quotas of a topic; nil if there are none.
    mutating func quotas(of topic: Topic, by policy: AccessPolicy) -> TopicQuotas? {
        guard !isEmpty else { return nil }
        if policy.generation != generation {
            known = [:]
            generation = policy.generation
        }
        let counted = topic.counted
        if let quotas = known[counted] { return quotas }
        let found = shared.quotas(of: counted, policy.team(of: topic))
        known[counted] = found
        return found
    }
}

extension ShardContext {
    /// The quotas of a topic; nil if there are none.
    func quotas(of topic: Topic) -> TopicQuotas? { quotas.quotas(of: topic, by: policy) }

    /// Counts a push or a broadcast for the quotas of its topic.
    ///
    /// - Throws: 413 or 429; the request then knows when to come back.
    func charge(_ request: PushRequest, _ topic: Topic, payloadBytes: Int) throws(Rejection) {
        switch refusal(payloadBytes: payloadBytes, topic) {
        case nil: return
        case .payload: throw .payloadTooLarge
        case .rate(let seconds):
            request.retryAfterSeconds = seconds
            throw .tooManyRequests
        }
    }

    /// Counts a message for the quotas of its topic. Returns the quota that refuses it; nil if none does.
    func refusal(payloadBytes: Int, _ topic: Topic) -> TopicQuotas.Refusal? {
        guard !quotas.areNone, let quotas = quotas(of: topic) else { return nil }
        return quotas.takePush(payloadBytes: payloadBytes, now: scheduler.now)
    }
}

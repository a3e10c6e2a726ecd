import PostriderNotifications
import PostriderProviderAPI

/// Answers providers that ask how far their pushes have come. It runs on shard 0.
///
/// Each provider key has a limit for how often it may ask, and one for how many of its requests may wait, so that the
/// relay's work is bounded.
final class ProviderWaits {
    private struct Waiting {
        let key: String
        let respond: (LookupAnswer) -> Void
    }

    private let context: ShardContext
    private let nodes: NodeQueries
    /// For each key, when it may ask as often as a key that has not for long. Only keys of the setting get here.
    private var paces: [String: TokenBucket] = [:]
    private var waiting: [UInt64: Waiting] = [:]
    private var lastNumber: UInt64 = 0

    init(_ context: ShardContext, _ nodes: NodeQueries) { (self.context, self.nodes) = (context, nodes) }

    /// Calls `then` with the state of the push: when it has reached the stage, when it cannot any more, or when the
    /// time is over. A push of another app, or of the other environment, is as unknown as one that nobody made.
    ///
    /// - Parameter now: monotonic nanoseconds.
    func answer(_ lookup: PushLookup, now: UInt64, then: @escaping (LookupAnswer) -> Void) {
        guard !context.isDraining else { return then(.failure(.shutdown)) }
        guard context.trace.tracesAll else { return then(.failure(.featureNotEnabled)) }
        guard let wait = try? PushWait(lookup.query[...]) else { return then(.failure(.badPath)) }
        let open = waiting.values.count { $0.key == lookup.key }
        guard open < Limits.pushLookups,
            paces[lookup.key, default: TokenBucket(Limits.pushLookupRate)].takes(now: now)
        else { return then(.failure(.tooManyRequests)) }
        lastNumber += 1
        let number = lastNumber
        waiting[number] = Waiting(key: lookup.key, respond: then)
        let inquiry = PushInquiry(
            identity: lookup.identity, wait: wait, topic: lookup.topic, environment: lookup.environment)
        nodes.findProgress(inquiry) { [weak self] answer, _ in
            self?.take(answer, for: number)
        }
    }

    /// Answers all that wait, because the relay ends.
    func drain() {
        let all = waiting
        waiting = [:]
        for number in all.keys.sorted() { all[number]?.respond(.failure(.shutdown)) }
    }

    private func take(_ answer: TraceAnswer, for number: UInt64) {
        guard let waiting = waiting.removeValue(forKey: number) else { return }
        switch answer {
        case .progress(let state): waiting.respond(.success(ControlHandler.answer(state).body))
        case .failed(TraceAnswer.busy): waiting.respond(.failure(.tooManyRequests))
        case .failed, .pushes, .events, .feed: waiting.respond(.failure(.serviceUnavailable))
        }
    }
}

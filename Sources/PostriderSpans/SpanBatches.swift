import PostriderNotifications

/// The spans that wait to be sent, and the batch that is under way. Pure; times are monotonic nanoseconds.
package struct SpanBatches {
    /// How a request ended.
    package enum Outcome: Sendable, Equatable {
        /// There was an answer with this status.
        case answered(Int)
        /// There was none.
        case failed
    }

    /// What becomes of the batch.
    package enum Verdict: Sendable, Equatable {
        /// The receiver has so many spans.
        case sent(Int)
        /// It is sent again.
        case postponed
        /// So many spans are dropped.
        case dropped(Int)
    }

    private var waiting: ArraySlice<PushSpan> = []
    /// When the oldest span that waits has waited long enough.
    private var due: UInt64 = 0
    private var batch: [PushSpan] = []
    private var failures = 0
    private var retryAt: UInt64?
    private var isUnderWay = false

    /// Nothing waits.
    package init() {}

    /// How many spans wait or are under way.
    package var count: Int { waiting.count + batch.count }

    /// Adds spans, and returns how many are dropped because there is no room.
    package mutating func add(_ spans: [PushSpan], now: UInt64) -> Int {
        let room = max(Limits.spansWaiting - count, 0)
        if waiting.isEmpty { due = now + UInt64(Limits.spanDelayMilliseconds) * 1_000_000 }
        waiting += spans.prefix(room)
        return max(spans.count - room, 0)
    }

    /// Takes the spans of the next request; nil if none is due.
    ///
    /// - Parameter isLast: whether spans do not wait for others any more.
    package mutating func takeDue(now: UInt64, isLast: Bool = false) -> [PushSpan]? {
        guard !isUnderWay else { return nil }
        if let retryAt {
            guard retryAt <= now else { return nil }
        } else {
            guard !waiting.isEmpty, isLast || due <= now || waiting.count >= Limits.spanBatch else {
                return nil
            }
            batch = Array(waiting.prefix(Limits.spanBatch))
            waiting = waiting.dropFirst(batch.count)
        }
        (isUnderWay, retryAt) = (true, nil)
        return batch
    }

    /// The request has ended. As OTLP says ("Failures"), a batch is sent again if there was no answer, or one of 429,
    /// 502, 503 and 504.
    package mutating func ended(_ outcome: Outcome, now: UInt64) -> Verdict {
        isUnderWay = false
        let isTransient =
            switch outcome {
            case .answered(429), .answered(502...504), .failed: true
            case .answered: false
            }
        if isTransient, failures < Limits.spanRetrySeconds.count {
            retryAt = now + Limits.spanRetrySeconds[failures] * 1_000_000_000
            failures += 1
            return .postponed
        }
        let count = batch.count
        (batch, failures) = ([], 0)
        if case .answered(200...299) = outcome { return .sent(count) }
        return .dropped(count)
    }

    /// When ``takeDue(now:isLast:)`` may have something; nil if nothing waits, or a request is under way.
    package var nextDeadline: UInt64? {
        if isUnderWay { return nil }
        if let retryAt { return retryAt }
        guard !waiting.isEmpty else { return nil }
        return waiting.count >= Limits.spanBatch ? 0 : due
    }
}

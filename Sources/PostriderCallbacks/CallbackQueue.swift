import PostriderNotifications

/// The callbacks that are owed: when each is attempted, and which are given up. Pure; times are monotonic nanoseconds.
///
/// Receivers do not wait for each other: each origin has places of its own, in the queue and among the requests that
/// are under way.
public struct CallbackQueue {
    /// One attempt.
    public struct Attempt: Sendable {
        /// Its number, for ``CallbackQueue/ended(_:_:now:)``.
        public let number: UInt64
        /// The message.
        public let message: CallbackMessage
        /// How many attempts of it have failed.
        fileprivate var failures = 0
        fileprivate var due: UInt64 = 0
    }

    /// How an attempt ended.
    public enum Outcome: Sendable, Equatable {
        /// There was an answer with this status.
        case answered(Int)
        /// There was none.
        case failed
    }

    /// What becomes of the message.
    public enum Verdict: Sendable, Equatable {
        /// The receiver has it.
        case sent
        /// It is attempted again.
        case postponed
        /// It is given up.
        case abandoned
    }

    private var ready: [String: ArraySlice<Attempt>] = [:]
    private var delayed: [Attempt] = []
    private var underWay: [UInt64: Attempt] = [:]
    /// The callbacks that are owed to each origin, and the requests to it that are under way.
    private var owed: [String: (all: Int, underWay: Int)] = [:]
    private var nextDue = UInt64.max
    private var lastNumber: UInt64 = 0

    /// An empty queue.
    public init() {}

    /// How many callbacks are owed.
    public private(set) var count = 0

    /// Adds a message. False: there is no room.
    public mutating func add(_ message: CallbackMessage) -> Bool {
        let origin = message.url.origin
        let all = owed[origin]?.all ?? 0
        guard count < Limits.callbacksOwed.all, all < Limits.callbacksOwed.each else { return false }
        count += 1
        owed[origin, default: (0, 0)].all += 1
        lastNumber += 1
        ready[origin, default: []].append(Attempt(number: lastNumber, message: message))
        return true
    }

    /// Takes the attempts that begin now, one of each origin in turn.
    public mutating func takeDue(now: UInt64) -> [Attempt] {
        makeReady(now: now)
        var taken: [Attempt] = []
        var isDone = false
        while !isDone {
            isDone = true
            for origin in Array(ready.keys) {
                guard underWay.count < Limits.callbacksUnderWay.all else { return taken }
                guard (owed[origin]?.underWay ?? 0) < Limits.callbacksUnderWay.each,
                    let attempt = ready[origin]?.popFirst()
                else { continue }
                if ready[origin]?.isEmpty == true { ready[origin] = nil }
                owed[origin]?.underWay += 1
                underWay[attempt.number] = attempt
                taken.append(attempt)
                isDone = false
            }
        }
        return taken
    }

    /// An attempt has ended. Nil: it is not under way.
    public mutating func ended(
        _ number: UInt64, _ outcome: Outcome, now: UInt64
    ) -> (verdict: Verdict, message: CallbackMessage)? {
        guard var attempt = underWay.removeValue(forKey: number) else { return nil }
        let origin = attempt.message.url.origin
        owed[origin]?.underWay -= 1
        let verdict = verdict(outcome, failures: attempt.failures)
        guard verdict == .postponed else {
            count -= 1
            owed[origin]?.all -= 1
            if owed[origin]?.all == 0 { owed[origin] = nil }
            return (verdict, attempt.message)
        }
        attempt.due = now + Limits.callbackDelaySeconds[attempt.failures] * 1_000_000_000
        attempt.failures += 1
        nextDue = min(nextDue, attempt.due)
        delayed.append(attempt)
        return (verdict, attempt.message)
    }

    /// When the next postponed attempt is due; nil if none is postponed.
    public var nextDeadline: UInt64? { delayed.isEmpty ? nil : nextDue }

    /// Every answer but 2xx is a failure, a redirect too. A receiver that answers 410 does not want the callback
    /// (Standard Webhooks, "Deliverability and reliability").
    private func verdict(_ outcome: Outcome, failures: Int) -> Verdict {
        switch outcome {
        case .answered(200...299): .sent
        case .answered(410): .abandoned
        case .answered, .failed: failures < Limits.callbackDelaySeconds.count ? .postponed : .abandoned
        }
    }

    private mutating func makeReady(now: UInt64) {
        guard nextDue <= now else { return }
        nextDue = .max
        var later: [Attempt] = []
        for attempt in delayed.sorted(by: { $0.due < $1.due }) {
            if attempt.due <= now {
                ready[attempt.message.url.origin, default: []].append(attempt)
            } else {
                nextDue = min(nextDue, attempt.due)
                later.append(attempt)
            }
        }
        delayed = later
    }
}

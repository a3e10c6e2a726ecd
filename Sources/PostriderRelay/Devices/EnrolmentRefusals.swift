import PostriderNotifications
import PostriderTransport
import Synchronization

/// Counts refused enrolments by their source, for all shards: an IPv4 address, or an IPv6 /64 network.
///
/// Only refusals count, and only refusals are put off. Whoever has a good key is enrolled at once, whatever others
/// behind the same address do: a wrong key must not lock a fleet out.
final class RefusalPace: Sendable {
    /// Nanoseconds that one refusal takes up of a source's minute.
    private static let interval = UInt64(60_000_000_000 / Limits.enrolmentRefusalsPerMinute)
    private static let sweepNanoseconds: UInt64 = 1_000_000_000

    private struct State {
        /// When a source would have had its refusals so far, had it kept to its rate. Nanoseconds.
        var due: [ConnectionLimiter.Source: UInt64] = [:]
        var lastSweep: UInt64 = 0
    }

    private let state = Mutex(State())

    /// How many sources are remembered.
    var sourceCount: Int { state.withLock { $0.due.count } }

    /// Counts one more refusal. True: the source has had many in the last minute, and its answer should wait. So should
    /// everybody's while more sources are refused than can be told apart.
    func isMany(from source: ConnectionLimiter.Source, now: UInt64) -> Bool {
        state.withLock { state in
            if state.due.count >= Limits.sources, state.due[source] == nil {
                sweep(&state, now)
                guard state.due.count < Limits.sources else { return true }
            }
            let due = max(state.due[source] ?? now, now)
            let isMany = due - now > Self.interval * UInt64(Limits.enrolmentRefusalsPerMinute - 1)
            // A source that goes on for long is not remembered for longer.
            state.due[source] = min(due + Self.interval, now + 60_000_000_000 + Self.interval)
            return isMany
        }
    }

    /// Forgets sources whose refusals are a minute old; at most once a second, for it takes time.
    private func sweep(_ state: inout State, _ now: UInt64) {
        guard now >= state.lastSweep + Self.sweepNanoseconds || state.lastSweep == 0 else { return }
        state.lastSweep = now
        state.due = state.due.filter { $0.value > now }
    }
}

/// Refusals of one shard that wait before they are told. While one waits, it takes one of the few streams that a
/// connection may have open, and a source has so many connections only.
final class EnrolmentRefusals {
    private let pace: RefusalPace
    private let scheduler: any Scheduler
    /// In the order in which they are due: each waits equally long.
    private var waiting: [(due: UInt64, answer: () -> Void)] = []
    private lazy var timer = scheduler.makeTimer { [unowned self] in answerDue() }

    init(_ pace: RefusalPace, on scheduler: any Scheduler) {
        self.pace = pace
        self.scheduler = scheduler
    }

    /// Tells a refusal: at once, or later if its source has had many.
    func tell(_ source: ConnectionLimiter.Source?, _ answer: @escaping () -> Void) {
        let now = scheduler.now
        guard let source, pace.isMany(from: source, now: now), waiting.count < Limits.waitingRefusals else {
            return answer()
        }
        waiting.append((now + UInt64(Limits.refusalMilliseconds) * 1_000_000, answer))
        if waiting.count == 1 { timer.arm(afterMilliseconds: Limits.refusalMilliseconds) }
    }

    /// Tells all that wait: the relay stops.
    func tellAll() {
        let answers = waiting
        waiting = []
        for (_, answer) in answers { answer() }
    }

    private func answerDue() {
        let now = scheduler.now
        let due = waiting.prefix { $0.due <= now }
        waiting.removeFirst(due.count)
        for (_, answer) in due { answer() }
        guard let next = waiting.first else { return }
        timer.arm(afterMilliseconds: Int((next.due - now) / 1_000_000) + 1)
    }
}

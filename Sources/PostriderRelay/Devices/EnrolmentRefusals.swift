import PostriderNotifications
import PostriderTransport
import Synchronization

/// Counts refused enrolments by source, for all shards. A source is an IPv4 address, or an IPv6 /64 network.
///
/// Only refusals are counted, and only refusals are delayed. A device with a valid key is enrolled at once, whatever
/// others behind the same address do: a wrong key must not lock a fleet out.
final class RefusalPace: Sendable {
    /// How many nanoseconds of a source's minute one refusal uses up.
    private static let interval = UInt64(60_000_000_000 / Limits.enrolmentRefusalsPerMinute)
    private static let sweepNanoseconds: UInt64 = 1_000_000_000

    private struct State {
        /// By source: the nanosecond at which it would have reached its number of refusals, had it kept to the rate.
        var due: [ConnectionLimiter.Source: UInt64] = [:]
        var lastSweep: UInt64 = 0
    }

    private let state = Mutex(State())

    /// How many sources are in the table.
    var sourceCount: Int { state.withLock { $0.due.count } }

    /// Counts one more refusal. Returns true if the source had many in the last minute, so that its answer should wait.
    /// It also returns true for everybody while there are more sources than the table holds.
    func isMany(from source: ConnectionLimiter.Source, now: UInt64) -> Bool {
        state.withLock { state in
            if state.due.count >= Limits.sources, state.due[source] == nil {
                sweep(&state, now)
                guard state.due.count < Limits.sources else { return true }
            }
            let due = max(state.due[source] ?? now, now)
            let isMany = due - now > Self.interval * UInt64(Limits.enrolmentRefusalsPerMinute - 1)
            // The bound makes sure that no source is remembered for more than a minute after its last refusal.
            state.due[source] = min(due + Self.interval, now + 60_000_000_000 + Self.interval)
            return isMany
        }
    }

    /// Removes sources whose refusals are older than a minute. It takes time, so it runs at most once a second.
    private func sweep(_ state: inout State, _ now: UInt64) {
        guard now >= state.lastSweep + Self.sweepNanoseconds || state.lastSweep == 0 else { return }
        state.lastSweep = now
        state.due = state.due.filter { $0.value > now }
    }
}

/// Refusals of one shard that are answered later. Each of them occupies one of the few streams that a connection may
/// have, and the number of connections from one source is bounded.
final class EnrolmentRefusals {
    private let pace: RefusalPace
    private let scheduler: any Scheduler
    /// In the order in which they are due: each waits for the same time.
    private var waiting: [(due: UInt64, answer: () -> Void)] = []
    private lazy var timer = scheduler.makeTimer { [unowned self] in answerDue() }

    init(_ pace: RefusalPace, on scheduler: any Scheduler) {
        self.pace = pace
        self.scheduler = scheduler
    }

    /// Answers a refusal: at once, or later if its source had many.
    func tell(_ source: ConnectionLimiter.Source?, _ answer: @escaping () -> Void) {
        let now = scheduler.now
        guard let source, pace.isMany(from: source, now: now), waiting.count < Limits.waitingRefusals else {
            return answer()
        }
        waiting.append((now + UInt64(Limits.refusalMilliseconds) * 1_000_000, answer))
        if waiting.count == 1 { timer.arm(afterMilliseconds: Limits.refusalMilliseconds) }
    }

    /// Answers all that wait, because the relay stops.
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

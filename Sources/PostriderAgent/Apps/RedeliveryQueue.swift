import PostriderNotifications
import PostriderTransport

/// The rows of the inbox at which an app has failed, until their next attempt. The pauses grow.
final class RedeliveryQueue {
    private let scheduler: any Scheduler
    private let streams: AttachedStreams
    /// For each row, its topic and the nanosecond at which it is tried again; nil while the failure is not committed.
    private var rows: [Int64: (topic: String, until: UInt64?)] = [:]
    private lazy var timer = scheduler.makeTimer { [unowned self] in releaseDue() }

    /// - Parameter streams: the topics of rows that may be tried again are read anew there.
    init(_ scheduler: any Scheduler, streams: AttachedStreams) {
        self.scheduler = scheduler
        self.streams = streams
    }

    /// Whether no row waits.
    var isEmpty: Bool { rows.isEmpty }

    /// Whether a row waits for its next attempt.
    func holds(_ row: Int64) -> Bool { rows[row] != nil }

    /// Holds a row until `pause` sets its pause.
    func hold(_ row: Int64, of topic: String) { rows[row] = (topic, nil) }

    /// Sets the pause of a row, which depends on the number of attempts.
    func pause(_ row: Int64, of topic: String, attempts: Int) {
        let milliseconds = Limits.redeliveryMilliseconds << min(max(attempts - 1, 0), 9)
        rows[row] = (topic, scheduler.now + UInt64(milliseconds) * 1_000_000)
        arm()
    }

    /// Forgets a row.
    func forget(_ row: Int64) { rows[row] = nil }

    /// Releases the rows whose pause is over.
    func releaseDue() {
        let due = rows.filter { $0.value.until.map { $0 <= scheduler.now } ?? false }
        for row in due.keys { rows[row] = nil }
        if !due.isEmpty { streams.rewind(Set(due.values.map(\.topic))) }
        arm()
    }

    private func arm() {
        guard let next = rows.values.compactMap(\.until).min() else { return timer.disarm() }
        let wait = next > scheduler.now ? next - scheduler.now : 0
        timer.arm(afterMilliseconds: Int(wait / 1_000_000) + 1)
    }
}

import PostriderNotifications
import PostriderTransport

/// Decides when the ledger's store does maintenance: when no command has arrived for a moment.
///
/// It begins some seconds after the start, so that short-lived relays, as in tests, leave the disk alone.
final class IdleMaintenance {
    private let store: any Store
    private let scheduler: any Scheduler
    private var timer: (any LoopTimer)?
    private var lastDisturbed: UInt64 = 0

    /// Milliseconds from the start until maintenance begins, and between its steps.
    static let beginning = 10_000
    static let pause = 100
    /// How many nanoseconds without a command count as idle.
    static let quiet: UInt64 = 50_000_000

    init(_ store: any Store, on scheduler: any Scheduler) {
        self.store = store
        self.scheduler = scheduler
        timer = scheduler.makeTimer { [unowned self] in look() }
        timer?.arm(afterMilliseconds: Self.beginning)
    }

    /// A command has arrived.
    func disturbed() { lastDisturbed = scheduler.now }

    private func look() {
        let isQuiet = scheduler.now >= lastDisturbed + Self.quiet
        if !isQuiet || store.prepare() { timer?.arm(afterMilliseconds: Self.pause) }
    }
}

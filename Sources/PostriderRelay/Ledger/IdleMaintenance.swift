import PostriderNotifications
import PostriderTransport

/// When the ledger's store prepares itself for more: while nobody has wanted anything for a moment.
///
/// It begins late. A relay that is gone by then, as those of tests are, leaves the disk alone.
final class IdleMaintenance {
    private let store: any Store
    private let scheduler: any Scheduler
    private var timer: (any LoopTimer)?
    private var lastDisturbed: UInt64 = 0

    /// Milliseconds from the start until it begins, and from one piece of the work to the next.
    static let beginning = 10_000
    static let pause = 100
    /// Nanoseconds without a letter that count as quiet.
    static let quiet: UInt64 = 50_000_000

    init(_ store: any Store, on scheduler: any Scheduler) {
        self.store = store
        self.scheduler = scheduler
        timer = scheduler.makeTimer { [unowned self] in look() }
        timer?.arm(afterMilliseconds: Self.beginning)
    }

    /// Somebody wants something.
    func disturbed() { lastDisturbed = scheduler.now }

    private func look() {
        let isQuiet = scheduler.now >= lastDisturbed + Self.quiet
        if !isQuiet || store.prepare() { timer?.arm(afterMilliseconds: Self.pause) }
    }
}

/// Decides whether the ledger begins a commit at once, or waits for the providers that the last commit has answered.
///
/// Providers with a bounded number of pushes under way send the next ones when the last are answered. Without waiting
/// they fall into two groups, one on its way to the ledger while the other is synced, so that each sync is shared by
/// half as many as possible. Waiting a moment puts all of them into one commit. A sync costs nearly the same however
/// many share it, so the wait may be at most as long as what it saves: one commit.
///
/// Waiting is tried only if many pushes are under way, and less and less often if nobody comes back, as with providers
/// that push only when they have something to say. A single push never waits.
struct GroupCommitPolicy {
    /// With fewer pushes under way no commit waits.
    private let least: Int
    /// The longest wait in nanoseconds, however long a commit takes.
    static let most: UInt64 = 4_000_000
    /// The most commits in a row that begin at once after waits that were of no use.
    static let mostSkipped = 64

    /// Begin when this many commands wait, or at the deadline; 0 to begin at once.
    private var target = 0
    private var deadline: UInt64 = 0
    /// How many of the target had arrived already when the last commit ended.
    private var early = 0
    /// Whether the next commit was delayed.
    private var hasWaited = false
    private var skips = 0
    private var skipsNext = 1

    init(least: Int = 8) { self.least = least }

    /// A commit has ended. `answered`: how many pushes it answers. `early`: how many commands have arrived meanwhile.
    mutating func ended(answered: Int, early: Int, began: UInt64, at now: UInt64) {
        target = 0
        guard answered > 0, answered + early >= least else { return }
        guard skips == 0 else { return skips -= 1 }
        target = answered + early
        self.early = early
        deadline = now + min(now - min(began, now), Self.most)
    }

    /// Until when to wait for more commands than those that are here; nil to begin.
    mutating func waits(with waiting: Int, at now: UInt64) -> UInt64? {
        guard waiting < target, now < deadline else { return nil }
        hasWaited = true
        return deadline
    }

    /// A commit of this many commands begins. The wait was useful if half of the awaited commands have arrived.
    mutating func begins(with count: Int) {
        if hasWaited {
            let isOfUse = count - early >= (target - early) / 2
            skips = isOfUse ? 0 : skipsNext
            skipsNext = isOfUse ? 1 : min(skipsNext * 2, Self.mostSkipped)
        }
        hasWaited = false
        target = 0
    }
}

/// The ledger's clock and its timer.
struct LedgerTime {
    /// Reads the monotonic clock, in nanoseconds.
    let now: () -> UInt64
    /// Sets the timer for ``Ledger/goOn()`` to this moment, in place of an earlier one.
    let alarm: (UInt64) -> Void
    /// How many commands are in the mailbox.
    let arrived: () -> Int
}

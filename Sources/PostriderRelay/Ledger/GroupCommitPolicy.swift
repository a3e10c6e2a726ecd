/// When the ledger begins a commit: at once, or when those are back whom the last commit has answered.
///
/// Providers that have so many pushes under way send the next ones when the last are answered. Without waiting they
/// fall into two groups, one under way to the ledger while the other is synced, and each sync has half as many to
/// share it as could. Who waits a moment has all of them in one. A sync costs nearly the same however many share it:
/// waiting for others is worth at most what it saves, one commit.
///
/// It is tried only where many are under way, and less and less often where nobody comes back, as with providers that
/// push whenever they have something to say. A lone push never waits.
struct GroupCommitPolicy {
    /// Where fewer are under way nobody waits for anybody.
    private let least: Int
    /// Nanoseconds that are waited at most, however long a commit takes.
    static let most: UInt64 = 4_000_000
    /// How many commits in a row are begun at once at most, after waits that were of no use.
    static let mostSkipped = 64

    /// Begin when so many wait, or at the deadline. 0: at once.
    private var target = 0
    private var deadline: UInt64 = 0
    /// How many of the target waited already when the last commit ended.
    private var early = 0
    /// Whether the commit to come was waited for.
    private var hasWaited = false
    private var skips = 0
    private var skipsNext = 1

    init(least: Int = 8) { self.least = least }

    /// A commit has ended: how many pushes it answers, and how many letters have come meanwhile.
    mutating func ended(answered: Int, early: Int, began: UInt64, at now: UInt64) {
        target = 0
        guard answered > 0, answered + early >= least else { return }
        guard skips == 0 else { return skips -= 1 }
        target = answered + early
        self.early = early
        deadline = now + min(now - min(began, now), Self.most)
    }

    /// Until when to wait for more than the letters that are here; nil: begin.
    mutating func waits(with waiting: Int, at now: UInt64) -> UInt64? {
        guard waiting < target, now < deadline else { return nil }
        hasWaited = true
        return deadline
    }

    /// A commit begins, of so many letters. Waiting was of use where half of those came that were waited for.
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

/// The ledger's clock, and what rings when it has waited for long enough.
struct LedgerTime {
    /// Monotonic nanoseconds, at this very moment.
    let now: () -> UInt64
    /// Has ``Ledger/goOn()`` called at this moment, in place of an earlier one.
    let alarm: (UInt64) -> Void
    /// How many letters have come that the ledger has not received.
    let arrived: () -> Int
}

package import PostriderNotifications

/// Notifications that were sent to devices which acknowledge at once, and are kept from the ledger for a moment. If the
/// acknowledgement arrives in time, they are never written to the disk.
///
/// No provider is told 200 too early: the 200 waits for the acknowledgement or, if the moment has passed, for the
/// commit.
package struct DeferredStores {
    private struct Entry {
        let row: QueueRow
        /// Nil once the notification is settled.
        var queued: QueuedNotification?
        let since: SendTime
    }

    /// Ordered by row, which is the order of arrival; those before `first` are gone.
    private var entries: [Entry] = []
    private var first = 0

    /// Nothing is deferred.
    package init() {}

    /// When the oldest was deferred; nil if there is none.
    package var oldest: SendTime? { first < entries.count ? entries[first].since : nil }

    /// Defers a notification, whose row must be higher than all others.
    package mutating func hold(_ queued: QueuedNotification, since moment: SendTime) {
        precondition(entries.last.map { $0.row < queued.row } ?? true, "rows rise")
        entries.append(Entry(row: queued.row, queued: queued, since: moment))
    }

    /// Removes a notification that is settled and needs no disk. Returns false if it was not deferred.
    package mutating func settle(_ row: QueueRow) -> Bool {
        guard let place = place(of: row), entries[place].queued != nil else { return false }
        entries[place].queued = nil
        skipSettled()
        return true
    }

    /// Removes and returns the oldest, if its acknowledgement is late at `now`; for nil, in any case.
    package mutating func takeFirst(lateAt now: SendTime?) -> QueuedNotification? {
        guard first < entries.count, now.map(entries[first].since.isLate) ?? true else { return nil }
        defer { skipSettled() }
        defer { entries[first].queued = nil }
        return entries[first].queued
    }

    private func place(of row: QueueRow) -> Int? {
        let place = entries.firstPlace(from: first) { $0.row >= row }
        return place < entries.count && entries[place].row == row ? place : nil
    }

    private mutating func skipSettled() {
        while first < entries.count, entries[first].queued == nil { first += 1 }
        if first == entries.count {
            entries.removeAll(keepingCapacity: entries.count <= Self.kept)
            first = 0
        } else if first > Self.kept, first > entries.count / 2 {
            entries.removeSubrange(..<first)
            first = 0
        }
    }

    /// Memory is kept for this many: 160 KiB.
    private static let kept = 4096
}

/// When something was sent to a device: by the clock, and by the turns of its home.
package struct SendTime {
    /// Monotonic nanoseconds.
    package let nanoseconds: UInt64
    let turn: Int

    /// A moment by both measures.
    package init(nanoseconds: UInt64, turn: Int) { (self.nanoseconds, self.turn) = (nanoseconds, turn) }

    /// How many ends of turns an acknowledgement may take at least; a turn in which something was written has two. If
    /// turns are long, an acknowledgement arrives some turns later rather than some milliseconds later.
    static let turns = 8

    /// Whether the acknowledgement is late if it has not arrived by now.
    func isLate(at now: SendTime) -> Bool {
        now.turn - turn >= Self.turns
            && now.nanoseconds - nanoseconds >= UInt64(Limits.acknowledgementMilliseconds) * 1_000_000
    }
}

/// Whether a device acknowledges so fast that waiting for it is worthwhile. That is assumed until one acknowledgement
/// is late. From then on one delivery at a time is timed, until one is acknowledged in time.
package struct AckLatency {
    package var isPrompt = true
    private var timed: (row: QueueRow, since: SendTime)?

    /// Nothing is known yet.
    package init() {}

    /// A notification is sent that the ledger gets as well: times it, unless another is being timed.
    package mutating func begin(_ row: QueueRow, at moment: SendTime) {
        if timed == nil { timed = (row, moment) }
    }

    /// A notification is settled: ends its timing.
    package mutating func end(_ row: QueueRow, at moment: SendTime) {
        guard let timed, timed.row == row else { return }
        self.timed = nil
        isPrompt = !timed.since.isLate(at: moment)
    }
}

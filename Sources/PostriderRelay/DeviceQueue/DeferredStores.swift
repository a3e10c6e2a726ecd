import PostriderNotifications

/// Notifications that are in the hands of devices which acknowledge at once, kept from the ledger for a moment: what is
/// acknowledged meanwhile need not be written down at all.
///
/// Nobody is told that they are safe: the 200 waits for the acknowledgement or, once the moment is over, for the
/// commit.
struct DeferredStores {
    private struct Entry {
        let row: QueueRow
        /// Nil once it is settled.
        var queued: QueuedNotification?
        let since: SendTime
    }

    /// In the order of rows, which is that of their coming; those before `first` are gone.
    private var entries: [Entry] = []
    private var first = 0

    /// Since when the oldest has been held; nil: none is.
    var oldest: SendTime? { first < entries.count ? entries[first].since : nil }

    /// Holds one whose row is higher than every other's.
    mutating func hold(_ queued: QueuedNotification, since moment: SendTime) {
        precondition(entries.last.map { $0.row < queued.row } ?? true, "rows rise")
        entries.append(Entry(row: queued.row, queued: queued, since: moment))
    }

    /// It is settled and needs no disk. False: it is not held.
    mutating func settle(_ row: QueueRow) -> Bool {
        guard let place = place(of: row), entries[place].queued != nil else { return false }
        entries[place].queued = nil
        skipSettled()
        return true
    }

    /// Takes the oldest out, if its acknowledgement is late at this moment; nil: in any case.
    mutating func takeFirst(lateAt now: SendTime?) -> QueuedNotification? {
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

    /// Room for so many is kept: 160 KiB.
    private static let kept = 4096
}

/// When something was sent to a device: by the clock, and in turns of its home.
struct SendTime {
    /// Monotonic.
    let nanoseconds: UInt64
    let turn: Int

    /// How many ends of turns an acknowledgement may take at least, two to a turn in which anything was written: where
    /// turns are long, it comes some turns later and not some milliseconds.
    static let turns = 8

    /// Whether its acknowledgement, if it has not come until now, is late.
    func isLate(at now: SendTime) -> Bool {
        now.turn - turn >= Self.turns
            && now.nanoseconds - nanoseconds >= UInt64(Limits.acknowledgementMilliseconds) * 1_000_000
    }
}

/// Whether a device acknowledges so soon that it is worth waiting for. It is believed to until it does not; then one of
/// its deliveries after the other is timed, until one is in time.
struct AckLatency {
    var isPrompt = true
    private var timed: (row: QueueRow, since: SendTime)?

    /// A notification is sent, and goes to the ledger as well.
    mutating func begin(_ row: QueueRow, at moment: SendTime) {
        if timed == nil { timed = (row, moment) }
    }

    /// One is settled.
    mutating func end(_ row: QueueRow, at moment: SendTime) {
        guard let timed, timed.row == row else { return }
        self.timed = nil
        isPrompt = !timed.since.isLate(at: moment)
    }
}

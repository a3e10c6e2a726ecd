/// Knows when timers are due: a hierarchical timing wheel of seven levels with 64 slots each, without a clock of its
/// own.
///
/// A tick is a millisecond. An entry lies on the level of the highest six-bit group in which its deadline differs
/// from the current tick. So every occupied slot of a level lies ahead of the current one, an entry moves down at
/// most six times, and arming, disarming and finding the next deadline take constant time. Entries are indices into
/// one array and form linked lists by index, so arming a timer allocates nothing and counts no references.
struct TimerWheel {
    private struct Entry {
        var next: Int32 = none
        var previous: Int32 = none
        /// The list that holds the entry: level × 64 + slot, or `idle`, `due` or `unused`.
        var place: Int32 = idle
        var deadline: UInt64 = 0
    }

    private static let none: Int32 = -1
    private static let idle: Int32 = -1
    private static let due: Int32 = -2
    private static let unused: Int32 = -3
    private static let levels = 7
    /// The latest possible tick, 139 years from 0. Later deadlines are brought forward to it.
    private static let lastTick: UInt64 = 1 << 42 - 1

    /// The current tick.
    private(set) var now: UInt64
    private var entries: [Entry] = []
    private var free: [Int32] = []
    private var heads = [Int32](repeating: none, count: levels * 64)
    private var occupied = [UInt64](repeating: 0, count: levels)

    init(now: UInt64) { self.now = now }

    /// Adds an entry that is not armed.
    mutating func insert() -> Int32 {
        guard let index = free.popLast() else {
            entries.append(Entry())
            return Int32(entries.count - 1)
        }
        entries[Int(index)] = Entry()
        return index
    }

    /// Removes an entry. Its index may be given out again.
    mutating func remove(_ index: Int32) {
        disarm(index)
        entries[Int(index)].place = Self.unused
        free.append(index)
    }

    /// Arms the entry for `deadline`, or for the next tick if that has passed.
    mutating func arm(_ index: Int32, at deadline: UInt64) {
        disarm(index)
        entries[Int(index)].deadline = min(max(deadline, now + 1), Self.lastTick)
        link(index)
    }

    mutating func disarm(_ index: Int32) {
        let entry = entries[Int(index)]
        precondition(entry.place != Self.unused, "bug: a timer is used after its removal")
        if entry.place >= 0 { unlink(index) }
        entries[Int(index)].place = Self.idle
    }

    /// Whether the entry is armed, or is due and not yet claimed.
    func isArmed(_ index: Int32) -> Bool {
        entries[Int(index)].place >= 0 || entries[Int(index)].place == Self.due
    }

    /// Returns whether an entry that `advance` reported is still due, and makes it idle. It may have been disarmed,
    /// armed anew or removed since the report.
    mutating func claim(_ index: Int32) -> Bool {
        guard entries[Int(index)].place == Self.due else { return false }
        entries[Int(index)].place = Self.idle
        return true
    }

    /// No entry is due before this tick. At this tick the wheel may only have to move entries down.
    var nextTick: UInt64? { nextSlot.map { $0.tick } }

    /// Advances to `tick` and appends the entries that have become due to `due`, in the order of their deadlines.
    mutating func advance(to tick: UInt64, due: inout [Int32]) {
        while let slot = nextSlot, slot.tick <= tick {
            now = slot.tick
            var index = takeAll(slot.place)
            while index != Self.none {
                let next = entries[Int(index)].next
                if entries[Int(index)].deadline <= now {
                    entries[Int(index)].place = Self.due
                    due.append(index)
                } else {
                    link(index)
                }
                index = next
            }
        }
        now = max(now, min(tick, Self.lastTick - 1))
    }

    /// The first occupied slot of the lowest occupied level. All entries of higher levels are due later.
    private var nextSlot: (place: Int32, tick: UInt64)? {
        for level in 0..<Self.levels where occupied[level] != 0 {
            let slot = occupied[level].trailingZeroBitCount
            let shift = UInt64(6 * level)
            let above = (now >> (shift + 6)) << (shift + 6)
            return (Int32(level * 64 + slot), above | UInt64(slot) << shift)
        }
        return nil
    }

    private mutating func link(_ index: Int32) {
        let deadline = entries[Int(index)].deadline
        assert(deadline > now)
        let level = (63 - (deadline ^ now).leadingZeroBitCount) / 6
        let slot = Int(deadline >> UInt64(6 * level) & 63)
        let place = level * 64 + slot
        let head = heads[place]
        entries[Int(index)].place = Int32(place)
        entries[Int(index)].previous = Self.none
        entries[Int(index)].next = head
        if head != Self.none { entries[Int(head)].previous = index }
        heads[place] = index
        occupied[level] |= 1 << UInt64(slot)
    }

    private mutating func unlink(_ index: Int32) {
        let entry = entries[Int(index)]
        if entry.next != Self.none { entries[Int(entry.next)].previous = entry.previous }
        if entry.previous != Self.none {
            entries[Int(entry.previous)].next = entry.next
        } else {
            heads[Int(entry.place)] = entry.next
            if entry.next == Self.none { occupied[Int(entry.place) / 64] &= ~(1 << UInt64(entry.place % 64)) }
        }
    }

    private mutating func takeAll(_ place: Int32) -> Int32 {
        let head = heads[Int(place)]
        heads[Int(place)] = Self.none
        occupied[Int(place) / 64] &= ~(1 << UInt64(place % 64))
        return head
    }
}

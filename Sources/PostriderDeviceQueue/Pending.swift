package import PostriderNotifications

/// One notification that waits for its device.
package struct Pending {
    /// How far the ledger has come with it.
    enum Durability {
        /// Not stored: because of `apns-expiration: 0`, or because the store failed while it was in flight.
        case memoryOnly
        /// Just accepted: the ledger has not been told.
        case new
        /// Sent to the ledger.
        case storing
        /// On the disk.
        case stored
    }

    let row: QueueRow
    let slot: Slot
    let registration: RegistrationNumber
    let priority: Priority
    /// Nil if it is not to be stored.
    let expiresAt: Moment?
    /// Nil while it is only on the disk.
    package internal(set) var notification: Notification?
    /// ``Notifications/Notification/contentHash`` of a notification that is no longer in memory.
    var contentHash: Int?
    var durability: Durability
    /// When it was accepted, in seconds since 1970. The field is placed where it adds no padding.
    let acceptedSecond: UInt32
    /// The address of its provider; nil once the 200 is sent.
    var address: ReplyAddress?
    /// The number of its delivery; nil while it is not in flight.
    var delivery: UInt64?
    /// Whether it was held back when its turn came.
    var isHeld = false

    /// When it was accepted, to the second.
    package var acceptedAt: Moment { Moment(seconds: Int64(acceptedSecond)) }

    /// Whether it has expired. A notification that is not to be stored has no expiration.
    func hasExpired(at now: Moment) -> Bool { expiresAt.map { $0 <= now } ?? false }
}

/// The pending notifications of one device, ordered by row, which is the order of delivery.
///
/// Everything before the cursor is in flight, held back or gone. Everything after it waits, except for notifications
/// that were in flight or held back when an older one was put back before them. A removal leaves a hole, unless it was
/// the last; when most places are holes they are closed. Most queues are short and there are many of them, so a row is
/// found by binary search, which touches less memory than a hash table.
package struct PendingQueue {
    private var order: [QueueRow] = []
    /// The notification at each place; nil for a hole.
    private var entries: [Pending?] = []
    /// All places before this are holes.
    private var front = 0
    private var cursor = 0
    private var slots = SlotTable()
    /// Rows that are held back until the device is awake, in order. Some may be gone already.
    private var held: [QueueRow] = []
    private var heldCursor = 0
    /// The number of pending notifications.
    private(set) var count = 0
    /// How many of them have a slot of their own because another push has their `apns-id`.
    private(set) var namesakes = 0
    private var lowPriorities = LowPriorityCounts()
    /// No pending notification expires before this. Removals do not change it.
    private(set) var expiresFrom = Moment.last

    /// The oldest notification. A lazy sequence would allocate memory, and each report of a shard asks every device.
    package var first: Pending? { entries[front...].first { $0 != nil } ?? nil }

    /// The notification at a row.
    package subscript(row: QueueRow) -> Pending? { place(of: row).flatMap { entries[$0] } }

    /// The row of the notification that holds a slot.
    func row(in slot: Slot) -> QueueRow? { slots[slot] }

    /// Appends a notification whose row is higher than all others; it takes its slot.
    mutating func append(_ pending: consuming Pending) {
        precondition(order.last.map { $0 < pending.row } ?? true, "rows rise")
        order.append(pending.row)
        noteAdded(pending)
        entries.append(pending)
    }

    /// Puts a removed notification back at its place. It is the next to be sent of those after it.
    mutating func putBack(_ pending: Pending) {
        precondition(place(of: pending.row) == nil && pending.delivery == nil, "it was taken out")
        precondition(slots[pending.slot] == nil, "what took its slot was taken out before")
        let place = order.firstPlace(from: pending.row)
        if place == order.count || order[place] != pending.row {
            order.insert(pending.row, at: place)
            entries.insert(nil, at: place)
        }
        cursor = min(cursor, place)
        front = min(front, place)
        entries[place] = pending
        entries[place]?.isHeld = false
        noteAdded(pending)
    }

    private mutating func noteAdded(_ pending: borrowing Pending) {
        count += 1
        if case .namesake = pending.slot { namesakes += 1 }
        lowPriorities.add(1, of: pending.priority)
        slots.put(pending.row, in: pending.slot)
        noteExpiration(of: pending)
    }

    /// Lets the notification at a row hold its slot again.
    mutating func claimSlot(for row: QueueRow) {
        if let pending = self[row] { slots.put(row, in: pending.slot) }
    }

    /// Changes the notification at a row, which must exist.
    mutating func update(_ row: QueueRow, _ change: (inout Pending) -> Void) {
        guard let place = place(of: row) else {
            preconditionFailure("only a pending notification is updated")
        }
        entries[place]?.change(change)
    }

    /// Removes the notification at a row.
    mutating func remove(_ row: QueueRow) -> Pending? {
        guard let place = place(of: row), let pending = entries[place].take() else { return nil }
        count -= 1
        if case .namesake = pending.slot { namesakes -= 1 }
        lowPriorities.add(-1, of: pending.priority)
        slots.remove(pending.slot, of: row)
        closeHoles()
        return pending
    }

    /// The next notification to send that is not held back; the cursor does not move.
    mutating func next() -> Pending? {
        while cursor < order.count {
            if let pending = entries[cursor], pending.delivery == nil, !pending.isHeld {
                return pending
            }
            cursor += 1
        }
        return nil
    }

    /// Marks the next notification as in flight and moves the cursor on.
    mutating func advance(delivery: UInt64) {
        entries[cursor]?.beginDelivery(delivery)
        cursor += 1
    }

    /// Marks the notification at a row as sent to the ledger. Returns false if it was sent before, need not be, or is
    /// gone.
    mutating func beginStoring(_ row: QueueRow) -> Bool {
        guard let place = place(of: row), entries[place]?.durability == .new else { return false }
        entries[place]?.durability = .storing
        return true
    }

    /// Holds the next notification back and moves the cursor on: until the device is awake or, if `ignored`, until
    /// ``release()``.
    mutating func hold(ignored: Bool) {
        let row = order[cursor]
        entries[cursor]?.isHeld = true
        cursor += 1
        guard !ignored else { return }
        if held.count > 32, held.count > count * 2 {
            let all = self
            held.removeAll { all[$0]?.isHeld != true }
            heldCursor = 0
        }
        // A notification that was put back may be older than those that are held back.
        let place = held.lastIndex { $0 < row }.map { $0 + 1 } ?? 0
        held.insert(row, at: max(place, heldCursor))
    }

    /// The first notification that is held back until the device is awake.
    mutating func nextHeld() -> Pending? {
        guard !held.isEmpty else { return nil }
        while heldCursor < held.count {
            if let pending = self[held[heldCursor]], pending.isHeld { return pending }
            heldCursor += 1
        }
        held.removeAll(keepingCapacity: true)
        heldCursor = 0
        return nil
    }

    /// Marks a notification that was held back as in flight.
    mutating func advance(held row: QueueRow, delivery: UInt64) {
        update(row) { $0.beginDelivery(delivery) }
    }

    /// Holds nothing back any more: these notifications are sent next, in their order.
    mutating func release() {
        held = []
        heldCursor = 0
        cursor = 0
        for place in entries.indices { entries[place]?.isHeld = false }
    }

    /// Nothing is in flight any more: sends everything again, from the first on.
    mutating func rewind() {
        release()
        for place in entries.indices { entries[place]?.delivery = nil }
    }

    /// The first `limit` rows that are only on the disk: after the cursor, or among those that are held back.
    func unloaded(limit: Int, held isOfHeld: Bool = false) -> [QueueRow] {
        var rows: [QueueRow] = []
        for row in isOfHeld ? held[heldCursor...] : order[cursor...] {
            guard rows.count < limit else { break }
            guard let pending = self[row], pending.notification == nil, pending.isHeld == isOfHeld else {
                continue
            }
            rows.append(row)
        }
        return rows
    }

    /// The rows of all notifications that fulfil a condition, in order.
    func rows(where condition: (Pending) -> Bool) -> [QueueRow] {
        entries.compactMap { entry in entry.flatMap { condition($0) ? $0.row : nil } }
    }

    /// The oldest notification of the lowest priority of a registration that is not in flight.
    func leastImportant(of registration: RegistrationNumber) -> QueueRow? {
        var found: (place: Int, priority: Priority)?
        let lowest = lowPriorities.lowest
        // This runs for each push to an app that has a thousand waiting, so it copies no entry and ends early.
        for place in entries.indices[front...] where entries[place]?.registration == registration {
            guard let priority = entries[place]?.priority, entries[place]?.delivery == nil else { continue }
            if found.map({ priority < $0.priority }) ?? true { found = (place, priority) }
            if priority == lowest { break }
        }
        return found.map { order[$0.place] }
    }

    /// The rows of all notifications that have expired and are not in flight, in order. The caller removes them.
    mutating func findExpired(at now: Moment) -> [QueueRow] {
        var rows: [QueueRow] = []
        expiresFrom = .last
        for case let pending? in entries {
            if pending.delivery == nil, pending.hasExpired(at: now) {
                rows.append(pending.row)
            } else {
                noteExpiration(of: pending)
            }
        }
        return rows
    }

    /// Memory is kept for this many: 1 KiB.
    private static let keptCapacity = 8

    private mutating func noteExpiration(of pending: borrowing Pending) {
        if let expiresAt = pending.expiresAt { expiresFrom = min(expiresFrom, expiresAt) }
    }

    private mutating func closeHoles() {
        while let last = entries.indices.last, entries[last] == nil {
            entries.removeLast()
            order.removeLast()
        }
        cursor = min(cursor, order.count)
        if count == 0 { return giveBackMemory() }
        while entries[front] == nil { front += 1 }
        guard order.count > 32, count * 2 < order.count else { return }
        cursor = entries[..<cursor].count { $0 != nil }
        entries.removeAll { $0 == nil }
        order = entries.compactMap { $0?.row }
        front = 0
    }

    /// Frees memory when nothing is pending.
    private mutating func giveBackMemory() {
        expiresFrom = .last
        front = 0
        if order.capacity > Self.keptCapacity { order = [] }
        if entries.capacity > Self.keptCapacity { entries = [] }
        if !held.isEmpty { held.removeAll(keepingCapacity: true) }
        heldCursor = 0
    }

    /// The place of a row; nil if it is not pending.
    private func place(of row: QueueRow) -> Int? {
        let place = order.firstPlace(from: row)
        return place < order.count && order[place] == row && entries[place] != nil ? place : nil
    }
}

extension Pending {
    fileprivate mutating func change(_ body: (inout Pending) -> Void) { body(&self) }

    /// The notification is sent and, if it is new, also stored.
    fileprivate mutating func beginDelivery(_ number: UInt64) {
        delivery = number
        isHeld = false
        if durability == .new { durability = .storing }
    }
}

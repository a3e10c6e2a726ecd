import PostriderNotifications

/// One notification that waits for its device.
struct Pending {
    /// How far the ledger is with it.
    enum Durability {
        /// Never stored: `apns-expiration: 0`, or the store failed while it was in the device's hands.
        case memoryOnly
        /// Just taken on: the ledger has not been told of it.
        case new
        /// On its way to the disk.
        case storing
        /// On the disk.
        case stored
    }

    let row: QueueRow
    let slot: Slot
    let registration: RegistrationNumber
    let priority: Priority
    /// Nil: now or never.
    let expiresAt: Moment?
    /// Nil while it lies on the disk only.
    var notification: Notification?
    /// ``Notifications/Notification/contentHash`` of a notification that this process has let go of.
    var contentHash: Int?
    var durability: Durability
    /// When it was accepted, in seconds since 1970: it lies where the fields beside it leave room.
    let acceptedSecond: UInt32
    /// Where the 200 goes; nil once it has been sent.
    var receipt: ReplyAddress?
    /// The number under which it waits for the device's acknowledgement; nil while it is not in flight.
    var delivery: UInt64?
    /// Whether its turn has come while it was to be held back.
    var isHeld = false

    /// When it was accepted, to the second.
    var acceptedAt: Moment { Moment(seconds: Int64(acceptedSecond)) }
}

/// The pending notifications of one device, in the order of their rows, which is the order of their delivery.
///
/// Everything before the cursor is in flight, held back or gone. Behind it all waits, except for what was in flight
/// or held when something older was put back. Removal leaves a hole in the order, unless it was the last; holes are
/// closed when they are the majority. Most queues are short, and their owners many: a row is found by halving the
/// order, which touches less memory than a table.
struct PendingQueue {
    private var order: [QueueRow] = []
    /// What waits at each row of the order; nil: a hole.
    private var entries: [Pending?] = []
    private var cursor = 0
    private var slots = SlotTable()
    /// What is held back until the device is awake, in order; it may list what is gone.
    private var held: [QueueRow] = []
    private var heldCursor = 0
    /// The number of pending notifications.
    private(set) var count = 0
    /// How many of them have a slot as a namesake.
    private(set) var namesakes = 0
    /// Nothing that is pending expires before this. It is not moved by what leaves.
    private(set) var expiresFrom = Moment.last

    /// The oldest of all.
    var first: Pending? { entries.lazy.compactMap(\.self).first }

    /// The notification at a row.
    subscript(row: QueueRow) -> Pending? { place(of: row).flatMap { entries[$0] } }

    /// The row that holds a slot.
    func row(in slot: Slot) -> QueueRow? { slots[slot] }

    /// Appends a notification whose row is higher than every other's; it takes its slot.
    mutating func append(_ pending: consuming Pending) {
        precondition(order.last.map { $0 < pending.row } ?? true, "rows rise")
        order.append(pending.row)
        count += 1
        if case .namesake = pending.slot { namesakes += 1 }
        slots.put(pending.row, in: pending.slot)
        noteExpiration(of: pending)
        entries.append(pending)
    }

    /// Puts a notification that was taken out back to its place; it is the next to be sent of those behind it.
    mutating func putBack(_ pending: Pending) {
        precondition(place(of: pending.row) == nil && pending.delivery == nil, "it was taken out")
        precondition(slots[pending.slot] == nil, "what took its slot was taken out before")
        let place = order.firstPlace(from: pending.row)
        if place == order.count || order[place] != pending.row {
            order.insert(pending.row, at: place)
            entries.insert(nil, at: place)
        }
        cursor = min(cursor, place)
        entries[place] = pending
        entries[place]?.isHeld = false
        count += 1
        if case .namesake = pending.slot { namesakes += 1 }
        slots.put(pending.row, in: pending.slot)
        noteExpiration(of: pending)
    }

    /// Has the notification at a row hold its slot again.
    mutating func claimSlot(for row: QueueRow) {
        if let pending = self[row] { slots.put(row, in: pending.slot) }
    }

    /// Changes the notification at a row, which must be there.
    mutating func update(_ row: QueueRow, _ change: (inout Pending) -> Void) {
        guard let place = place(of: row) else {
            preconditionFailure("only a pending notification is updated")
        }
        entries[place]?.change(change)
    }

    /// Takes the notification at a row out.
    mutating func remove(_ row: QueueRow) -> Pending? {
        guard let place = place(of: row), let pending = entries[place].take() else { return nil }
        count -= 1
        if case .namesake = pending.slot { namesakes -= 1 }
        slots.remove(pending.slot, of: row)
        closeHoles()
        return pending
    }

    /// The next notification to send of those that are not held back, without moving on.
    mutating func next() -> Pending? {
        while cursor < order.count {
            if let pending = entries[cursor], pending.delivery == nil, !pending.isHeld {
                return pending
            }
            cursor += 1
        }
        return nil
    }

    /// Marks the next notification as in flight and moves on.
    mutating func advance(delivery: UInt64) {
        entries[cursor]?.beginDelivery(delivery)
        cursor += 1
    }

    /// Marks the notification at a row as on its way to the ledger. False if it is there already, need not be, or is
    /// gone.
    mutating func beginStoring(_ row: QueueRow) -> Bool {
        guard let place = place(of: row), entries[place]?.durability == .new else { return false }
        entries[place]?.durability = .storing
        return true
    }

    /// Holds the next notification back and moves on: until the device is awake or, if it is `ignored`, until
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
        // What was put back may be older than what is held.
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

    /// Nothing is held back any more: it is the next to be sent, as if its turn came now.
    mutating func release() {
        held = []
        heldCursor = 0
        cursor = 0
        for place in entries.indices { entries[place]?.isHeld = false }
    }

    /// Nothing is in flight any more: everything is to be sent again, from the first.
    mutating func rewind() {
        release()
        for place in entries.indices { entries[place]?.delivery = nil }
    }

    /// The first `limit` rows whose notifications are on the disk only: from the cursor on, or of those that are held
    /// back.
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

    /// The rows of all that fulfil a condition, in order.
    func rows(where condition: (Pending) -> Bool) -> [QueueRow] {
        entries.compactMap { entry in entry.flatMap { condition($0) ? $0.row : nil } }
    }

    /// The oldest of the lowest priority that a registration has and the device has not in its hands.
    func leastImportant(of registration: RegistrationNumber) -> QueueRow? {
        var found: (place: Int, priority: Priority)?
        // It is asked for each push to an app that has a thousand waiting: no entry is copied.
        for place in entries.indices where entries[place]?.registration == registration {
            guard let priority = entries[place]?.priority, entries[place]?.delivery == nil else { continue }
            if found.map({ priority < $0.priority }) ?? true { found = (place, priority) }
            if priority == .low { break }
        }
        return found.map { order[$0.place] }
    }

    /// The rows of all that have expired and are not in the device's hands, in order; the caller takes them out.
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

    /// Room for so many is kept for the next ones; 1 KiB.
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
        guard order.count > 32, count * 2 < order.count else { return }
        cursor = entries[..<cursor].count { $0 != nil }
        entries.removeAll { $0 == nil }
        order = entries.compactMap { $0?.row }
    }

    /// Nothing is pending.
    private mutating func giveBackMemory() {
        expiresFrom = .last
        if order.capacity > Self.keptCapacity { order = [] }
        if entries.capacity > Self.keptCapacity { entries = [] }
        if !held.isEmpty { held.removeAll(keepingCapacity: true) }
        heldCursor = 0
    }

    /// Where the notification of a row is; nil: it is not pending.
    private func place(of row: QueueRow) -> Int? {
        let place = order.firstPlace(from: row)
        return place < order.count && order[place] == row && entries[place] != nil ? place : nil
    }
}

extension Pending {
    fileprivate mutating func change(_ body: (inout Pending) -> Void) { body(&self) }

    /// It is sent and, if it is new, stored.
    fileprivate mutating func beginDelivery(_ number: UInt64) {
        delivery = number
        isHeld = false
        if durability == .new { durability = .storing }
    }
}

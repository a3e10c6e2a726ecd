public import PostriderNotifications

/// The latest requests, limited in number and bytes: the oldest is dropped if there is no room for another.
public struct CaptureRing: Sendable {
    private let most: Int
    private let mostBytes: Int
    /// The captures in the order of their consecutive numbers. Those before index ``first`` are dropped.
    private var captures: [Capture] = []
    private var first = 0
    private var byteCount = 0
    /// The number of the latest capture; 0 if there was none.
    public private(set) var lastNumber = 0
    /// How many captures were dropped because there was no room.
    public private(set) var droppedCount = 0
    /// The rows of accepted pushes, with the numbers of their captures.
    private var rows: [QueueRow: Int] = [:]
    /// The captures of accepted pushes whose rows are not known yet, by `apns-id`.
    private var unplaced: [String: [Int]] = [:]

    /// Creates an empty ring with these limits.
    public init(most: Int = Limits.captures, bytes: Int = Limits.captureBytes) {
        precondition(most > 0 && bytes > 0, "a ring has room")
        self.most = most
        mostBytes = bytes
    }

    /// The number of captures.
    public var count: Int { captures.count - first }

    /// Adds a request, and returns its number.
    public mutating func add(_ capture: Capture) -> Int {
        var capture = capture
        lastNumber += 1
        capture.number = lastNumber
        let bytes = capture.byteCount
        while count > 0, count >= most || byteCount + bytes > mostBytes { dropFirst() }
        byteCount += bytes
        captures.append(capture)
        return lastNumber
    }

    /// Changes a capture unless it was dropped. Its headers and body must stay as they are.
    public mutating func update(_ number: Int, _ change: (inout Capture) -> Void) {
        guard let index = index(of: number) else { return }
        let before = captures[index].answer?.byteCount ?? 0
        change(&captures[index])
        byteCount += (captures[index].answer?.byteCount ?? 0) - before
        guard captures[index].outcome != .open, captures[index].outcome != .accepted else { return }
        forgetLife(of: number, captures[index].identity)
    }

    /// The captures that a filter selects, oldest first: the latest `last` of them; or with `after` the first ones,
    /// up to one that is open.
    public func captures(_ filter: CaptureFilter, last: Int = Limits.capturesInAnswer) -> [Capture] {
        let start = filter.after.map { max(first, first + $0 - droppedCount) } ?? first
        guard start < captures.count else { return [] }
        var found: [Capture] = []
        if filter.after != nil {
            // A caller that continues after the last one would never see the outcome of an open one.
            for capture in captures[start...] where filter.matches(capture) {
                guard found.count < last, capture.outcome != .open else { break }
                found.append(capture)
            }
            return found
        }
        for capture in captures[start...].reversed() where found.count < last && filter.matches(capture) {
            found.append(capture)
        }
        return found.reversed()
    }

    /// Removes all captures. Numbers continue.
    public mutating func removeAll() {
        droppedCount += count
        captures = []
        first = 0
        byteCount = 0
        rows = [:]
        unplaced = [:]
    }

    // MARK: What becomes of accepted pushes

    /// A request is about to be passed to the shard of its device, so the trace will have events from its acceptance
    /// on.
    public mutating func expectLife(of number: Int) {
        guard let index = index(of: number) else { return }
        unplaced[captures[index].identity.lowercased(), default: []].append(number)
    }

    private mutating func forgetLife(of number: Int, _ identity: String) {
        let key = identity.lowercased()
        unplaced[key]?.removeAll { $0 == number }
        if unplaced[key]?.isEmpty == true { unplaced[key] = nil }
    }

    /// Adds the events of the trace to captured pushes.
    ///
    /// From its acceptance on, a push is identified by its row. Of two with the same `apns-id`, the one that was
    /// received first was accepted first.
    public mutating func note(_ records: [TraceRecord]) {
        for record in records {
            switch record {
            case .acceptance(let acceptance): place(acceptance)
            case .event(let event): add(Capture.Event(kind: "\(event.kind)", at: event.moment), to: event.row)
            case .report(let report):
                add(Capture.Event(kind: "\(report.kind)", at: report.moment), to: report.row)
            }
        }
    }

    private mutating func place(_ acceptance: TraceAcceptance) {
        let key = String(decoding: acceptance.identity.lowerCaseText, as: UTF8.self)
        guard var numbers = unplaced[key], !numbers.isEmpty else { return }
        let number = numbers.removeFirst()
        unplaced[key] = numbers.isEmpty ? nil : numbers
        rows[acceptance.row] = number
    }

    private mutating func add(_ event: Capture.Event, to row: QueueRow) {
        guard let number = rows[row] else { return }
        guard let index = index(of: number) else { return rows[row] = nil }
        guard captures[index].events.count < Limits.captureEvents else { return }
        captures[index].events.append(event)
    }

    private func index(of number: Int) -> Int? {
        let index = first + number - droppedCount - 1
        return (first..<captures.count).contains(index) ? index : nil
    }

    private mutating func dropFirst() {
        let gone = captures[first]
        byteCount -= gone.byteCount
        droppedCount += 1
        // The entry remains until the array is rebuilt, so its contents are released now.
        captures[first].headers = []
        captures[first].body = []
        captures[first].events = []
        captures[first].answer = nil
        first += 1
        forgetLife(of: gone.number, gone.identity)
        guard first > most else { return }
        captures.removeFirst(first)
        first = 0
        rows = rows.filter { $0.value > droppedCount }
    }
}

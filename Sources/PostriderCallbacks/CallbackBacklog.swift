package import PostriderNotifications

/// What is owed to providers, according to all records. Pure, and bounded as what a running relay owes.
package struct CallbackBacklog: Sendable {
    /// A push, and what became of it.
    package struct Push: Sendable, Equatable {
        /// The push.
        package let push: CallbackPush
        /// The row whose events count.
        package fileprivate(set) var row: QueueRow
        /// The events that its provider was told, or is owed.
        package fileprivate(set) var told: Set<String> = []

        /// Whether its provider is told nothing more after a restart.
        var isOver: Bool { told.contains("done") || told.contains("failed") }
    }

    private struct Owed {
        let record: CallbackRecord
        let message: CallbackMessage
        let number: Int
    }

    private var known: [QueueRow: Push] = [:]
    private var order: ArraySlice<QueueRow> = []
    private var owed: [String: Owed] = [:]
    private var lastNumber = 0
    /// The highest row of all records.
    package private(set) var lastRow = QueueRow(0)

    /// A backlog of nothing.
    package init() {}

    /// The pushes that may still have callbacks, oldest first.
    package var pushes: [Push] { order.compactMap { known[$0] }.filter { !$0.isOver } }

    /// The messages that no receiver has yet, oldest first.
    package var messages: [CallbackMessage] { owedInOrder.map(\.message) }

    /// As few records as possible that lead to this backlog, but for pushes that may have no more callbacks.
    package var records: [CallbackRecord] {
        pushes.flatMap { push -> [CallbackRecord] in
            let row = push.push.row
            let merged = push.row == row ? [] : [CallbackRecord.merged(row, into: push.row)]
            return [.expected(push.push)] + merged + push.told.sorted().map { .told(row, event: $0) }
        } + owedInOrder.map(\.record)
    }

    private var owedInOrder: [Owed] { owed.values.sorted { $0.number < $1.number } }

    /// Adds a record.
    package mutating func take(_ record: CallbackRecord) {
        switch record {
        case .expected(let push):
            lastRow = max(lastRow, push.row)
            guard known.updateValue(Push(push: push, row: push.row), forKey: push.row) == nil else { return }
            order.append(push.row)
            if order.count > Limits.callbackPushes, let oldest = order.popFirst() { known[oldest] = nil }
        case .merged(let row, let other): known[row]?.row = other
        case .told(let row, let event): known[row]?.told.insert(event)
        case .owed(let message, let row, let event):
            known[row]?.told.insert(event)
            guard owed.count < Limits.callbacksOwed.all else { return }
            lastNumber += 1
            owed[message.id] = Owed(record: record, message: message, number: lastNumber)
        case .settled(let identity): owed[identity] = nil
        }
    }
}

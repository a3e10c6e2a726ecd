import PostriderNotifications
import Synchronization

/// The counter from which every home draws the rows of its notifications, so that the queue on the disk is append-only.
/// Shared by all shards.
final class RowSequence: Sendable {
    private let last: Atomic<Int64>

    /// A counter that continues after `last`, the highest row that was ever used.
    init(after last: QueueRow) { self.last = Atomic(last.value) }

    /// Continues above a row, unless the counter is above it already: rows of a node that takes devices over are above
    /// those of their earlier node.
    func rise(above row: QueueRow) { last.max(row.value, ordering: .relaxed) }

    /// A row that was never used before.
    func draw() -> QueueRow { QueueRow(last.add(1, ordering: .relaxed).newValue) }
}

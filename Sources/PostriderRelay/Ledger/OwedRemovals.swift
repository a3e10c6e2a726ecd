import PostriderNotifications

/// Rows that a failing disk has kept from being removed, and when the ledger tries again by itself: after a time that
/// doubles with each failure.
struct OwedRemovals {
    /// Rows whose removal failed with the batch that it was part of; the next batch tries again.
    private var rows: [QueueRow] = []
    /// Whether the disk has failed under a batch: what was refused may be there all the same, and the store removes it
    /// with the next batch that it is given, even an empty one.
    private(set) var isInDoubt = false
    private var milliseconds = 0

    /// How long the ledger waits before it tries again: first, and at most. Milliseconds.
    static let rests = (first: 1_000, most: 60_000)

    /// Whether nothing is to be tried again.
    var isEmpty: Bool { rows.isEmpty && !isInDoubt }

    /// Takes the rows out for a batch.
    mutating func takeRows() -> [QueueRow] {
        defer { rows = [] }
        return rows
    }

    /// A batch that was to remove `settled` has ended.
    ///
    /// - Returns: the milliseconds after which to try again; nil if nothing is owed.
    mutating func noteEnd(_ result: Result<Void, StoreError>, of settled: [QueueRow]) -> Int? {
        switch result {
        case .success: isInDoubt = false
        case .failure(let error):
            rows = settled
            isInDoubt = isInDoubt || error.kind == .inputOutput
        }
        milliseconds = isEmpty ? 0 : min(max(milliseconds * 2, Self.rests.first), Self.rests.most)
        return isEmpty ? nil : milliseconds
    }
}

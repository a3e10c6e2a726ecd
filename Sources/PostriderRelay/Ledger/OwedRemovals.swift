import PostriderNotifications

/// Rows that could not be removed, and receipts that could not be changed, because the disk failed, and when the ledger
/// tries again: after a pause that doubles with each failure.
struct OwedRemovals {
    /// Rows whose removal failed together with their batch; the next batch tries again.
    private var rows: [QueueRow] = []
    /// The changes of receipts in the same batch.
    private var receipts: [ReceiptChange] = []
    /// Whether the disk has failed during a batch. Rows whose storing was refused may be on the disk all the same; the
    /// store removes them with its next batch, even an empty one.
    private(set) var isInDoubt = false
    /// Whether rows are removed before anything else is stored: a full disk refused them together with new
    /// notifications, and their removal makes room.
    private(set) var goesFirst = false
    private var milliseconds = 0

    /// The pause before the next try, in milliseconds: the first, and the longest.
    static let rests = (first: 1_000, most: 60_000)

    /// Whether nothing has to be tried again.
    var isEmpty: Bool { rows.isEmpty && receipts.isEmpty && !isInDoubt }

    /// Moves everything that is owed into a batch.
    mutating func takeAll(into batch: inout QueueBatch) {
        batch.settled += rows
        batch.receipts = receipts + batch.receipts
        (rows, receipts) = ([], [])
    }

    /// A batch has ended.
    ///
    /// - Returns: the pause in milliseconds before the next try; nil if nothing is owed.
    mutating func noteEnd(_ result: Result<Void, StoreError>, of batch: QueueBatch) -> Int? {
        goesFirst = false
        switch result {
        case .success: isInDoubt = false
        case .failure(let error):
            (rows, receipts) = (batch.settled, batch.receipts)
            goesFirst = error.kind == .full && !rows.isEmpty && !batch.enqueued.isEmpty
            isInDoubt = isInDoubt || error.kind == .inputOutput
        }
        milliseconds = isEmpty ? 0 : min(max(milliseconds * 2, Self.rests.first), Self.rests.most)
        return isEmpty ? nil : milliseconds
    }
}

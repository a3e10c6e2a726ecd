/// What the inbox has stored of late: whoever hands it over in the same turn need not read it.
struct LatestMessages {
    /// By app: how many messages have been stored since the start, also by transactions that were rolled back, and how
    /// often the file was opened again since the first of them.
    private(set) var counts: [Int64: Int] = [:]
    /// What the current transaction has stored.
    private var storing: [Inbox.Stored] = []
    /// What was stored and committed and has not been taken yet.
    private var stored: [Inbox.Stored] = []

    /// The current transaction has stored a message.
    mutating func add(_ message: Inbox.Stored) {
        counts[message.app, default: 0] += 1
        storing.append(message)
    }

    /// A transaction has been committed or rolled back.
    mutating func transactionEnded(_ isCommitted: Bool) {
        if isCommitted { stored += storing }
        storing.removeAll(keepingCapacity: true)
    }

    /// Returns what was stored and committed since the last call.
    mutating func take() -> [Inbox.Stored] {
        defer { stored.removeAll(keepingCapacity: true) }
        return stored
    }

    /// Messages were removed from the inbox.
    mutating func forget(where isGone: (Inbox.Stored) -> Bool) {
        storing.removeAll(where: isGone)
        stored.removeAll(where: isGone)
    }

    /// The file was opened again. What a transaction has stored that seemed to fail may be there now.
    mutating func fileWasOpened() { counts = counts.mapValues { $0 + 1 } }
}

import PostriderNotifications

/// The commands that wait for the ledger's next commits, in the order of their arrival.
struct WaitingCommands {
    private var commands: [LedgerCommand] = []
    /// Whether the next commit may be delayed. After a command that cannot wait it may not until none waits any more.
    private(set) var canAllWait = true

    var count: Int { commands.count }

    /// The commands of the next commit: the oldest ones, and as many as one commit may have.
    var oldest: ArraySlice<LedgerCommand> { commands.prefix(Limits.ledgerBatch) }

    mutating func add(_ arrived: [LedgerCommand]) {
        commands.append(contentsOf: arrived)
        canAllWait = canAllWait && arrived.allSatisfy(\.canWait)
    }

    /// Removes those of ``oldest``. The memory of a usual number is kept for the next ones.
    mutating func removeOldest() {
        guard commands.count <= Limits.ledgerBatch else { return commands.removeFirst(Limits.ledgerBatch) }
        commands.removeAll(keepingCapacity: true)
        canAllWait = true
    }
}

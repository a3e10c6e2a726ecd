import PostriderCluster
import PostriderNotifications

/// The partitions of one node that the ledger reads, that shards have, and that shards give up.
struct PartitionsInMotion {
    /// Partitions to be read.
    struct Load {
        let partitions: Set<Partition>
        let generation: Int64

        /// The row above which the rows of the devices begin (``ClusterNode/generation``).
        var firstRow: QueueRow { QueueRow(generation << QueueRow.generationShift) }
    }

    /// Loads that wait for the shards to run, or for the database to answer.
    private var waiting: [Load] = []
    /// Loads that the ledger has.
    private var loading: [Load] = []
    /// What every shard has.
    private var present: Set<Partition> = []
    /// What is to be given up as soon as it is read.
    private var postponed: [Set<Partition>] = []
    /// What shards give up, and how many of them have not done so, by ticket.
    private var leaving: [UInt64: (partitions: Set<Partition>, shards: Int)] = [:]
    private var lastTicket: UInt64 = 0

    /// Those of the node's partitions that it can serve.
    func served(of own: Set<Partition>) -> Set<Partition> { own.intersection(present) }

    // MARK: Taking

    /// Keeps a load for later.
    mutating func keep(_ load: Load) { waiting.append(load) }

    /// Removes and returns the loads that wait.
    mutating func takeRetries() -> [Load] {
        defer { waiting = [] }
        return waiting
    }

    /// The ledger has this load.
    mutating func began(_ load: Load) { loading.append(load) }

    /// These partitions are read, and every shard has them before what it is told next. Returns what is to be given up
    /// now.
    mutating func taken(_ partitions: Set<Partition>) -> [Set<Partition>] {
        loading.removeAll { $0.partitions == partitions }
        present.formUnion(partitions)
        let waiting = postponed.filter(isLoading)
        defer { postponed = waiting }
        return postponed.filter { !isLoading($0) }
    }

    /// These partitions could not be read: for good, or they are tried again.
    mutating func notTaken(_ partitions: Set<Partition>, isFinal: Bool) {
        if !isFinal { waiting += loading.filter { $0.partitions == partitions } }
        loading.removeAll { $0.partitions == partitions }
    }

    // MARK: Giving up

    /// Whether partitions can be given up at once. Otherwise this happens when they are read.
    mutating func canLeave(_ partitions: Set<Partition>) -> Bool {
        guard isLoading(partitions) else { return true }
        postponed.append(partitions)
        return false
    }

    /// The shards begin to give up partitions. Returns the ticket by which each of them tells that it has.
    mutating func leave(_ partitions: Set<Partition>, shards: Int) -> UInt64 {
        present.subtract(partitions)
        lastTicket += 1
        leaving[lastTicket] = (partitions, shards)
        return lastTicket
    }

    /// A shard has given up the partitions of this ticket. Returns them after the last shard; nil before.
    mutating func left(_ ticket: UInt64) -> Set<Partition>? {
        guard let (partitions, shards) = leaving[ticket] else { return nil }
        guard shards > 1 else {
            leaving[ticket] = nil
            return partitions
        }
        leaving[ticket] = (partitions, shards - 1)
        return nil
    }

    private func isLoading(_ partitions: Set<Partition>) -> Bool {
        (loading + waiting).contains { !$0.partitions.isDisjoint(with: partitions) }
    }
}

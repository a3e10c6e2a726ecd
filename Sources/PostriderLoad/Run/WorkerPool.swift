import PostriderTransport

/// The workers of a run: the orders that they were given, and what they have reported.
struct WorkerPool {
    /// The last report of each worker; nil before its first.
    var latest: [WorkerProgress?] = []
    /// The last words of the workers that have ended.
    var conclusions: [WorkerConclusion] = []
    private var workers: [Mailbox<WorkerCommand>] = []
    /// How many orders each worker was given.
    private var orders: [Int] = []

    /// Whether all workers have ended.
    var haveConcluded: Bool { conclusions.count == workers.count }

    /// Adds a worker.
    mutating func add(_ worker: Mailbox<WorkerCommand>) {
        workers.append(worker)
        orders.append(0)
        latest.append(nil)
    }

    /// Gives each worker an order, by its number; nil for no order.
    mutating func order(_ make: (Int) -> WorkerCommand?) {
        for (index, worker) in workers.enumerated() {
            guard let order = make(index), worker.post(order) else { continue }
            orders[index] += 1
        }
    }

    /// The last reports of all workers, added up.
    var together: LoadRun.PhaseTotals {
        var together = LoadRun.PhaseTotals()
        for (index, progress) in latest.enumerated() {
            guard let progress, progress.obeyed >= orders[index] else {
                together.isComplete = false
                continue
            }
            together.ready += progress.ready
            together.subscribed += progress.subscribed
            together.open += progress.open
            together.missing += progress.missing
            together.isPushing = together.isPushing || progress.isPushing
            together.hasCountLeft = together.hasCountLeft || progress.hasCountLeft
            together.broadcastsLeft += progress.broadcastsLeft
            together.haveProviders = together.haveProviders && progress.hasProvider
            together.backlog += progress.backlog
            together.tally.add(progress.tally)
        }
        return together
    }
}

import PostriderNotifications

/// What a worker reports to the run.
enum WorkerReport: Sendable {
    /// Its progress.
    case progress(WorkerProgress)
    /// Its results; the last report.
    case concluded(WorkerConclusion)
    /// The run cannot go on; one sentence.
    case failed(String)
}

/// The progress of a worker.
struct WorkerProgress: Sendable {
    let worker: Int
    /// How many orders it has carried out, so that the run can tell reports from before an order.
    let obeyed: Int
    /// Devices that are connected, and have all of their tokens.
    let ready: Int
    /// Devices that are subscribed to the channel.
    let subscribed: Int
    /// Pushes that are not answered yet.
    let open: Int
    /// Accepted pushes that must arrive and have not yet.
    let missing: Int
    /// Whether pushes are still being made.
    let isPushing: Bool
    /// Whether it was told to make a number of pushes and has not made them all.
    let hasCountLeft: Bool
    /// Broadcasts that are still to be made or answered.
    let broadcastsLeft: Int
    /// Whether a provider is connected.
    let hasProvider: Bool
    /// Pushes of this phase that were due and have not been sent.
    let backlog: UInt64
    /// Its counters since it started.
    let tally: LoadTally
    /// What it has measured since the last slice; nil if that is less than a second ago and in the same phase.
    let slice: WorkerSlice?
}

/// What was measured in about one second; less at the end of a phase.
struct WorkerSlice: Sendable {
    var tally = LoadTally()
    var acceptance = LatencyHistogram()
    var delivery = LatencyHistogram()
    var nanoseconds: UInt64 = 0
    /// The phase, by its index in the plan.
    var phase = 0
    /// Whether it is the worker's last slice of that phase.
    var isLast = false

    /// Adds the worker's next second.
    mutating func add(_ next: WorkerSlice) {
        tally.add(next.tally)
        acceptance.add(next.acceptance)
        delivery.add(next.delivery)
        nanoseconds += next.nanoseconds
        isLast = next.isLast
    }
}

/// The results of a worker.
struct WorkerConclusion: Sendable {
    /// By phase.
    let records: [PhaseRecord]
    /// The counters of all phases together.
    let total: LoadTally
    /// Pushes that were accepted, had to arrive and did not.
    let lost: Int
    /// Pushes that were accepted, did not have to arrive and did not.
    let excused: Int
    /// Pushes that arrived although their connection ended before the answer.
    let unansweredArrivals: Int
    /// The `apns-id` of the first pushes that were lost.
    let lostIdentities: [NotificationIdentity]
}

import PostriderNotifications

/// What a worker says of itself.
enum WorkerReport: Sendable {
    /// How far it is.
    case progress(WorkerProgress)
    /// What came of it all. Last.
    case concluded(WorkerConclusion)
    /// The run cannot go on; one sentence.
    case failed(String)
}

/// How far a worker is.
struct WorkerProgress: Sendable {
    let worker: Int
    /// Orders carried out, so that whoever gave one knows what is from before.
    let obeyed: Int
    /// Devices that are connected, and have all of their tokens.
    let ready: Int
    /// Devices that are subscribed to the channel.
    let subscribed: Int
    /// Pushes without an answer.
    let open: Int
    /// Accepted pushes that have not arrived, and must.
    let missing: Int
    /// Whether pushes are still being made.
    let isPushing: Bool
    /// Whether a number of them was given, and has not been reached.
    let hasCountLeft: Bool
    /// Broadcasts that are still to be made or answered.
    let broadcastsLeft: Int
    /// Whether a provider is connected.
    let hasProvider: Bool
    /// Pushes of this phase that were due and could not leave.
    let backlog: UInt64
    /// What it has counted since it began.
    let tally: LoadTally
    /// What it has counted since it last said so; nil where that was less than a second ago, and in the same phase.
    let slice: WorkerSlice?
}

/// What happened within about a second, or less where a phase ended.
struct WorkerSlice: Sendable {
    var tally = LoadTally()
    var acceptance = LatencyHistogram()
    var delivery = LatencyHistogram()
    var nanoseconds: UInt64 = 0
    /// The phase that it is of, by its place in the plan.
    var phase = 0
    /// Whether the worker has left that phase with it.
    var isLast = false

    /// Adds what the worker did in the next second.
    mutating func add(_ next: WorkerSlice) {
        tally.add(next.tally)
        acceptance.add(next.acceptance)
        delivery.add(next.delivery)
        nanoseconds += next.nanoseconds
        isLast = next.isLast
    }
}

/// What came of a worker's work.
struct WorkerConclusion: Sendable {
    /// By phase.
    let records: [PhaseRecord]
    /// All phases together.
    let total: LoadTally
    /// Pushes that were accepted, had to arrive and did not.
    let lost: Int
    /// Pushes that were accepted, had not to arrive and did not.
    let excused: Int
    /// Pushes that arrived without having been answered.
    let unansweredArrivals: Int
    /// The first of these, by their `apns-id`.
    let lostIdentities: [NotificationIdentity]
}

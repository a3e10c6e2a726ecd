import PostriderNotifications

/// What a worker needs to begin. Counts are those of this worker.
struct WorkerSetup: Sendable {
    let index: Int
    let fleet: LoadPlan.Fleet
    let devices: Int
    let providers: Int
    let target: LoadTarget
    let phases: Int
    let seed: UInt64
    /// The start of the run, in nanoseconds of the monotonic clock.
    let epoch: UInt64
    /// Tells the pushes of this worker and run from others; 12 bits.
    let mark: UInt16
    /// The only processor that its threads may run on; nil if they may run on any.
    let processor: Int?
    /// Takes what the worker reports, on any thread.
    let report: @Sendable (WorkerReport) -> Void
}

/// A command to a worker. Counts are of this worker's devices and pushes.
enum WorkerCommand: Sendable {
    /// Count what is measured from here on for this phase, by its index in the plan.
    case enter(phase: Int)
    /// Connect the first devices, as many as this.
    case connect(Int)
    /// Disconnect the last of the connected devices, as many as this.
    case disconnect(Int, isOrderly: Bool)
    /// Cut the links of this many devices, which then reconnect.
    case storm(Int)
    /// Begin to push.
    case start(LoadPlan.Traffic)
    /// Stop pushing.
    case stop
    /// Subscribe all connected devices to a channel of the first app.
    case subscribe(ChannelIdentity)
    /// Broadcast to a channel.
    case broadcast(ChannelIdentity, count: Int, perSecond: Double, payload: [UInt8])
    /// Report the results, and end.
    case conclude
}

/// Reports the first failure that ends the run. Later failures are consequences, and are not reported.
final class FailureReport {
    private let report: @Sendable (WorkerReport) -> Void
    /// Whether the run has failed.
    private(set) var hasFailed = false

    init(_ report: @escaping @Sendable (WorkerReport) -> Void) { self.report = report }

    /// The run cannot go on, for the reason in this sentence.
    func fail(_ sentence: String) {
        guard !hasFailed else { return }
        hasFailed = true
        report(.failed(sentence))
    }
}

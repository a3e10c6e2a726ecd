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
    /// Moments are counted from here, in nanoseconds of the monotonic clock.
    let epoch: UInt64
    /// Tells the pushes of this worker and run from others; 12 bits.
    let mark: UInt16
    /// The only processor that its threads may run on; nil: any.
    let processor: Int?
    /// Takes what the worker reports, on any thread.
    let report: @Sendable (WorkerReport) -> Void
}

/// A command to a worker. Counts are of this worker's devices and pushes.
enum WorkerOrder: Sendable {
    /// Measurements belong to this phase from here on, by its place in the plan.
    case enter(phase: Int)
    /// Connect the first so many devices.
    case connect(Int)
    /// Disconnect the last so many of the connected devices.
    case disconnect(Int, isOrderly: Bool)
    /// Cut the links of so many devices, which then reconnect.
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

/// Reports the first failure that ends the run; later ones follow from it.
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

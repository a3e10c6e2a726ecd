/// How far a push has come, according to its trace. Pure: events may be added in any order and more than once.
public struct PushProgress: Sendable, Equatable {
    /// The stages that a caller can wait for.
    public enum Stage: String, CaseIterable, Codable, Sendable {
        /// The relay has accepted the push.
        case accepted
        /// The device has stored it.
        case delivered
        /// The app has received it, or its handler was started.
        case taken
        /// The user was shown it.
        case shown
        /// The app has handled it, or its handler has ended with exit code 0.
        case done
    }

    /// Whether a stage was reached.
    public enum State: Equatable, Sendable {
        /// It was reached.
        case reached
        /// It cannot be reached any more, or not without help, for this reason.
        case failed(String)
        /// It may still be reached.
        case underWay
    }

    /// The stages that were reached.
    public private(set) var stages: Set<Stage> = []
    /// A phrase about where the push is.
    public private(set) var position = "the relay does not know it yet"
    /// Why the relay has given it up; nil if it has not.
    private var failure: String?
    /// Why its app or handler has not handled it, and will not without help.
    private var deviceFailure: String?

    /// A push about which nothing is known.
    public init() {}

    /// The state of a stage.
    public func state(of stage: Stage) -> State {
        if stages.contains(stage) { return .reached }
        if let failure { return .failed(failure) }
        if let deviceFailure, stage == .taken || stage == .done { return .failed(deviceFailure) }
        return .underWay
    }

    /// The relay has accepted the push.
    public mutating func accepted() {
        guard stages.insert(.accepted).inserted else { return }
        position = "it waits at the relay for the device"
    }

    /// The relay has refused the push with this status and reason.
    public mutating func refused(_ status: Int, _ reason: String) {
        failure = "the relay refused it: \(status) \(reason)"
        position = failure ?? position
    }

    /// Adds what a relay has answered about the push.
    public mutating func take(_ state: Control.PushState) {
        stages.formUnion(state.stages)
        position = state.position
        failure = state.failure
    }

    /// Adds an event of the push.
    public mutating func take(_ event: Control.TracedEvent) {
        accepted()
        let text = event.text.map { ": \($0)" } ?? ""
        switch event.what {
        case "sent": position = "it was sent to the device, which has not acknowledged it yet"
        case "returned": position = "it waits at the relay for the device, whose connection was lost"
        case "recalled":
            failure = nil
            position = "it waits at the relay for the device"
        case "acknowledged": reach(.delivered, "it is on the device, and its app has not taken it yet")
        case "replaced": fail("a newer push with its collapse identifier took its place")
        case "merged": fail("it was merged with \(event.other ?? "another push"), which is the same push")
        case "expired": fail("it expired before it was delivered")
        case "discarded": fail("it was now or never, and the device was not there")
        case "dropped": fail("it was dropped: \(event.cause ?? "nobody knows why")")
        case "handedOver": reach(.done, "its app has handled it")
        case "begun": reach(.taken, "its handler runs")
        case "postponed": reach(.taken, "its handler has asked for another time\(text)")
        case "failed": reach(.taken, "it has failed, and is tried again\(text)")
        case "done": reach(.done, "its handler is done")
        case "gaveUp":
            reach(.taken, "it is a dead letter on the device")
            deviceFailure = "it has failed for good, and is a dead letter on the device\(text)"
        case "shown": reach(.shown, "the user was shown it")
        case "actedOn": reach(.shown, "the user has acted on it")
        case "replacedOnDevice":
            reach(.delivered, "a newer push took its place on the device")
            deviceFailure = "a newer push with its collapse identifier took its place on the device"
        default: break
        }
    }

    private mutating func fail(_ reason: String) {
        failure = reason
        position = reason
    }

    private mutating func reach(_ stage: Stage, _ position: String) {
        stages.insert(.delivered)
        if stage == .done { stages.insert(.taken) }
        stages.insert(stage)
        // A report may arrive before an older event: it must not lead back to an earlier position.
        if !stages.contains(.done) || stage == .done { self.position = position }
    }
}

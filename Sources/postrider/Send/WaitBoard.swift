import PostriderClients
import PostriderCommands
import PostriderRelay

/// The state of the pushes of one `postrider send --wait`. It has no I/O.
struct WaitBoard {
    /// One push.
    struct Entry {
        /// The recipient.
        let addressee: SendTarget
        /// The `apns-id` of the push.
        let identity: String
        fileprivate(set) var progress = PushProgress()
        /// Milliseconds from the beginning until the push was settled; nil if it is not settled.
        fileprivate(set) var settledAfter: Int?
        /// The response to the provider, or why there is none.
        fileprivate(set) var answer = ""
    }

    /// The stage that is waited for.
    let stage: PushProgress.Stage
    /// How many pushes must reach the stage.
    let needed: Int
    private(set) var entries: [Entry]
    private var indexes: [String: Int] = [:]
    private var rows: [Int64: Int] = [:]

    /// Creates a board for pushes to these recipients.
    ///
    /// - Parameter quorum: the percentage of pushes that must reach the stage, above 0.
    init(_ pushes: [(addressee: SendTarget, identity: String)], _ stage: PushProgress.Stage, quorum: Double) {
        self.stage = stage
        entries = pushes.map { Entry(addressee: $0.addressee, identity: $0.identity) }
        for (index, push) in pushes.enumerated() { indexes[push.identity.uppercased()] = index }
        let count = (Double(pushes.count) * quorum / 100).rounded(.up)
        needed = min(max(1, Int(count)), pushes.count)
    }

    /// Records the response to the provider.
    mutating func take(_ outcome: Result<PushOutcome, ClientError>, of index: Int, after milliseconds: Int) {
        switch outcome {
        case .success(let answer) where answer.isAccepted:
            entries[index].answer = String(answer.status)
            entries[index].progress.accepted()
        case .success(let answer):
            entries[index].answer = "\(answer.status) \(answer.reason ?? "")"
            entries[index].progress.refused(answer.status, answer.reason ?? "without a reason")
        case .failure(let error):
            // The relay may have accepted the push nevertheless.
            entries[index].answer = error.description
        }
        settle(index, milliseconds)
    }

    /// Records the events that the trace has reported since the last time.
    mutating func take(_ feed: Control.TraceFeed, after milliseconds: Int) {
        for push in feed.pushes { take(push, milliseconds) }
        for event in feed.events {
            // An event reported by a device names no row.
            let named = event.identity.flatMap { indexes[$0.uppercased()] }
            guard let index = event.row == 0 ? named : rows[event.row] else { continue }
            take([event], index, milliseconds)
        }
    }

    /// Records all events of a push.
    mutating func take(_ push: Control.TracedPush, _ milliseconds: Int) {
        guard let index = indexes[push.identity.uppercased()] else { return }
        rows[push.row] = index
        entries[index].progress.accepted()
        take(push.events, index, milliseconds)
    }

    /// Records what the relay has answered about a push.
    mutating func take(_ state: Control.PushState, of index: Int, after milliseconds: Int) {
        entries[index].progress.take(state)
        settle(index, milliseconds)
    }

    private mutating func take(_ events: [Control.TracedEvent], _ index: Int, _ milliseconds: Int) {
        for event in events { entries[index].progress.take(event) }
        settle(index, milliseconds)
    }

    private mutating func settle(_ index: Int, _ milliseconds: Int) {
        guard entries[index].settledAfter == nil, entries[index].state(stage) != .underWay else { return }
        entries[index].settledAfter = milliseconds
    }

    /// How many pushes have reached the stage, how many cannot any more, and how many still may.
    var counts: (reached: Int, failed: Int, underWay: Int) {
        entries.reduce(into: (0, 0, 0)) { counts, entry in
            switch entry.state(stage) {
            case .reached: counts.reached += 1
            case .failed: counts.failed += 1
            case .underWay: counts.underWay += 1
            }
        }
    }

    /// Whether there is nothing more to wait for.
    var isOver: Bool {
        let counts = counts
        return counts.reached >= needed || counts.underWay == 0
    }

    /// 0 if enough pushes reached the stage; 5 if too many cannot any more; 4 if they did not in time.
    var exitCode: Int32 {
        let counts = counts
        if counts.reached >= needed { return 0 }
        return counts.reached + counts.underWay < needed ? 5 : 4
    }

    /// One line with the totals.
    var summary: String {
        let counts = counts
        let parts = [
            "\(counts.reached) of \(entries.count) \(stage.rawValue)",
            counts.failed == 0 ? nil : "\(counts.failed) failed",
            counts.underWay == 0 ? nil : "\(counts.underWay) under way",
            needed == entries.count ? nil : "\(needed) needed",
        ]
        return parts.compactMap { $0 }.joined(separator: ", ")
    }
}

extension WaitBoard.Entry {
    /// Whether the push has reached the stage.
    func state(_ stage: PushProgress.Stage) -> PushProgress.State { progress.state(of: stage) }

    /// The state of the push in a word, and details.
    func words(_ stage: PushProgress.Stage) -> (state: String, about: String) {
        switch state(stage) {
        case .reached: (stage.rawValue, settledAfter.map { TraceListing.duration(Int64($0)) } ?? "")
        case .failed(let reason): ("failed", reason)
        case .underWay: ("under way", progress.stages.isEmpty && !answer.isEmpty ? answer : progress.position)
        }
    }
}

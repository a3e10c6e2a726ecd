import FoundationEssentials
import PostriderCluster
import PostriderNotifications
import PostriderTransport

/// How far a push has come, and its life. Each node knows what happened there: the node that has accepted the push, and
/// those to which its device has moved since, which know the push by its row.
extension NodeQueries {
    /// What the nodes have said to one question about a push.
    private struct Found {
        /// The state that tells most; nil if no node has answered.
        let state: Control.PushState?
        let missing: [NodeName]
        let gap: String?
        /// Why there is no state.
        let failure: String

        /// The answer for a program that asked for this stage.
        func answer(_ stage: PushProgress.Stage) -> TraceAnswer {
            guard var state = state?.told else { return .failed(failure) }
            state.wait = stage
            return .progress(state)
        }
    }

    /// Asks the trace of this relay, or of all nodes of its cluster. `then` gets the answer, and a sentence about nodes
    /// that have not answered.
    func findProgress(_ inquiry: PushInquiry, then: @escaping (TraceAnswer, _ gap: String?) -> Void) {
        let (stage, seconds) = (inquiry.wait.stage, inquiry.wait.seconds)
        guard cluster != nil else {
            return findOwnProgress(inquiry) { then($0.told, nil) }
        }
        let end = context.scheduler.now + UInt64(seconds) * 1_000_000_000
        find(inquiry, stage, seconds: 0, missing: []) { [weak self] found in
            guard let self, let state = found.state, state.state == "underWay" else {
                return then(found.answer(stage), found.gap)
            }
            guard state.push == nil else { return follow(found, inquiry, until: end, then: then) }
            guard seconds > 0 else { return then(found.answer(stage), found.gap) }
            find(inquiry, .accepted, seconds: seconds, missing: found.missing) { [weak self] found in
                guard let self, found.state?.push != nil, stage != .accepted else {
                    return then(found.answer(stage), found.gap)
                }
                follow(found, inquiry, until: end, then: then)
            }
        }
    }

    /// Asks every node what it knows of a push that one of them has accepted.
    private func follow(
        _ found: Found, _ inquiry: PushInquiry, until end: UInt64,
        then: @escaping (TraceAnswer, _ gap: String?) -> Void
    ) {
        let stage = inquiry.wait.stage
        guard let push = found.state?.push?.traced else {
            return then(found.answer(stage), found.gap)
        }
        var known = inquiry
        known.known = push
        let now = context.scheduler.now
        let seconds = end > now ? Int((end - now) / 1_000_000_000) : 0
        find(known, stage, seconds: seconds, missing: found.missing) { then($0.answer(stage), $0.gap) }
    }

    private func find(
        _ inquiry: PushInquiry, _ stage: PushProgress.Stage, seconds: Int, missing: [NodeName],
        then: @escaping (Found) -> Void
    ) {
        var inquiry = inquiry
        inquiry.wait = PushWait(for: stage, seconds: seconds)
        // What is already known is asked of all nodes: one may have refused the push, and another one have it.
        askAll(
            .progress(inquiry), waiting: seconds,
            until: { seconds > 0 && Self.state(in: $0).map { $0.state != "underWay" } ?? false },
            then: { answers in
                let states = answers.read(as: Control.PushState.self).missing(missing)
                let refusal = answers.refusal.flatMap(Self.sentence)
                then(
                    Found(
                        state: Control.PushState.furthest(of: states.all), missing: states.missing,
                        gap: states.gap, failure: refusal ?? "No node of the cluster has answered."))
            })
    }

    /// Asks the trace of this node alone.
    func findOwnProgress(_ inquiry: PushInquiry, then: @escaping (TraceAnswer) -> Void) {
        context.trace.ask(.wait(inquiry.identity, inquiry.wait, matching: inquiry.filter), then)
    }

    /// Calls `then` with the last pushes of these answers, and all that the nodes know of them, and with a sentence
    /// about nodes that have not answered.
    func findLives(
        in answers: NodeAnswers, last: Int, then: @escaping (Control.Trace, _ gap: String?) -> Void
    ) {
        let parts = answers.read(as: Control.Trace.self)
        let trace = Control.Trace(ofNodes: parts.named.map { ($0.node.text, $0.value) }, last: last)
        let rows = trace.pushes.compactMap(\.traced)
        guard !rows.isEmpty, parts.named.count + parts.missing.count > 1 else {
            return then(trace, parts.gap)
        }
        askAll(.traceEvents(rows)) { answers in
            let more = answers.read(as: [Control.TracedEvent].self).missing(parts.missing)
            var trace = trace
            trace.add(more.named.map { ($0.node.text, $0.value) })
            then(trace, more.gap)
        }
    }

    private static func state(in answer: ControlAnswer) -> Control.PushState? {
        try? JSONDecoder().decode(Control.PushState.self, from: Data(answer.body))
    }

    private static func sentence(_ refusal: ControlAnswer) -> String? {
        (try? JSONDecoder().decode(Control.Refusal.self, from: Data(refusal.body)))?.sentence
    }
}

extension TraceAnswer {
    /// This answer, as programs get it.
    fileprivate var told: TraceAnswer {
        if case .progress(let state) = self { .progress(state.told) } else { self }
    }
}

extension Control.PushState {
    /// The state that tells most of a push, and of several that tell as much, the latest: one node may have refused it
    /// when its provider sent it for the first time, and another one have it.
    static func furthest(of states: [Control.PushState]) -> Control.PushState? {
        states.max { ($0.rank, $0.latestAt ?? .min) < ($1.rank, $1.latestAt ?? .min) }
    }

    private var rank: Int {
        switch state {
        case "reached": 100
        case "failed" where stages.isEmpty: 1
        case "failed": 90
        default: stages.isEmpty ? 0 : 10 + stages.count
        }
    }
}

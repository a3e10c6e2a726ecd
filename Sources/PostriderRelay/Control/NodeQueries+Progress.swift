import FoundationEssentials
import PostriderNotifications

/// How far a push has come, of which each node knows what happened there.
extension NodeQueries {
    /// Asks the trace of this relay, or of all nodes of its cluster. `then` gets the answer, and a sentence about nodes
    /// that have not answered.
    func findProgress(_ inquiry: PushInquiry, then: @escaping (TraceAnswer, _ gap: String?) -> Void) {
        guard cluster != nil else {
            return findOwnProgress(inquiry) { then($0, nil) }
        }
        askAll(
            .progress(inquiry), waiting: inquiry.wait.seconds,
            until: { Self.state(in: $0).map { $0.state != "underWay" } ?? false },
            then: { answers in
                let states = answers.read(as: Control.PushState.self)
                guard let state = Control.PushState.furthest(of: states.all) else {
                    let refusal = answers.refusal.flatMap(Self.sentence)
                    let sentence = refusal ?? "No node of the cluster has answered."
                    return then(.failed(sentence), nil)
                }
                then(.progress(state), states.gap)
            })
    }

    /// Asks the trace of this node alone.
    func findOwnProgress(_ inquiry: PushInquiry, then: @escaping (TraceAnswer) -> Void) {
        context.trace.ask(.wait(inquiry.identity, inquiry.wait, matching: inquiry.filter), then)
    }

    private static func state(in answer: ControlAnswer) -> Control.PushState? {
        try? JSONDecoder().decode(Control.PushState.self, from: Data(answer.body))
    }

    private static func sentence(_ refusal: ControlAnswer) -> String? {
        (try? JSONDecoder().decode(Control.Refusal.self, from: Data(refusal.body)))?.sentence
    }
}

extension Control.PushState {
    /// The state that tells most of a push: one node may have refused it when its provider sent it for the first time,
    /// and another one have it.
    static func furthest(of states: [Control.PushState]) -> Control.PushState? {
        states.max { $0.rank < $1.rank }
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

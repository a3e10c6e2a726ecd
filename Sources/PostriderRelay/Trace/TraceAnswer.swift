/// The trace's answer to a question.
enum TraceAnswer: Sendable {
    /// The pushes that a search has found.
    case pushes(Control.Trace)
    /// What this node knows of pushes that other nodes have accepted.
    case events([Control.TracedEvent])
    /// What was recorded since the last answer.
    case feed(Control.TraceFeed)
    /// How far a push has come, for a caller that waited.
    case progress(Control.PushState)
    /// One sentence: why there is no answer, and what to do.
    case failed(String)

    /// The sentence for too many questions.
    static let busy = "Too much is asked of the trace at once: ask again in a moment."
}

/// What the trace answers the operator.
enum TraceAnswer: Sendable {
    /// The pushes that a search has found.
    case pushes(Control.Trace)
    /// What was written since the last answer.
    case feed(Control.TraceFeed)
    /// How far a push has come, for a caller that waited.
    case progress(Control.PushState)
    /// A sentence: why there is no answer now, and what to do.
    case failed(String)

    /// The sentence while too much is asked.
    static let busy = "Too much is asked of the trace at once: ask again in a moment."
}

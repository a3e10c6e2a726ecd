/// Decides when a repeated failure is worth a log line: when it begins, when its cause changes, and when it ends.
///
/// On a nearly full disk, small operations succeed between two that fail. So a failure that returns soon after its
/// end was logged has ended only after a while without failure. The log has at most two episodes in such a period,
/// whatever happens.
public struct FailureEpisodes: Sendable {
    /// How long no failure must occur until a failure that had returned counts as ended, in nanoseconds: a minute.
    public static let quiet: UInt64 = 60_000_000_000

    private struct Episode {
        /// The causes that were logged.
        var kinds: Set<StoreError.Kind> = []
        var failures = 0
        var lastFailure: UInt64 = 0
        /// Whether the failure began soon after the end of another.
        let hasComeBack: Bool
    }

    private var present: Episode?
    private var lastEnd: UInt64?

    /// Creates a state without failures.
    public init() {}

    /// Whether the failure is present.
    public var isPresent: Bool { present != nil }

    /// Records a failure at a moment in monotonic nanoseconds.
    ///
    /// - Returns: whether to log it.
    public mutating func failed(_ error: StoreError, at now: UInt64) -> Bool {
        var episode = present ?? Episode(hasComeBack: lastEnd.map { now < $0 + Self.quiet } ?? false)
        episode.failures += 1
        episode.lastFailure = now
        defer { present = episode }
        return episode.kinds.insert(error.kind).inserted
    }

    /// Records the success of the same kind of operation at a moment in monotonic nanoseconds.
    ///
    /// - Returns: how many times it had failed, if the end is to be logged; nil otherwise.
    public mutating func succeeded(at now: UInt64) -> Int? {
        guard let episode = present, !episode.hasComeBack || now >= episode.lastFailure + Self.quiet else {
            return nil
        }
        present = nil
        lastEnd = now
        return episode.failures
    }
}

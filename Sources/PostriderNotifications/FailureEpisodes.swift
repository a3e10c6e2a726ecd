/// When a failure that repeats is worth a line in the log: when it begins, when its cause changes, and when it is over.
///
/// Where a disk is nearly full, what is small succeeds between two that fail. So a failure that comes back soon after
/// its end was told is over only when nothing has failed for a while: the log is told of at most two episodes in such a
/// while, whatever happens.
public struct FailureEpisodes: Sendable {
    /// Nanoseconds without a failure after which one that has come back is over: a minute.
    public static let quiet: UInt64 = 60_000_000_000

    private struct Episode {
        /// What has been told as its cause.
        var kinds: Set<StoreError.Kind> = []
        var failures = 0
        var lastFailure: UInt64 = 0
        /// Whether it began soon after the end of another.
        let hasComeBack: Bool
    }

    private var present: Episode?
    private var lastEnd: UInt64?

    /// Nothing has failed yet.
    public init() {}

    /// Whether it fails at present.
    public var isPresent: Bool { present != nil }

    /// Something has failed, at a moment in monotonic nanoseconds.
    ///
    /// - Returns: whether that is to be told.
    public mutating func failed(_ error: StoreError, at now: UInt64) -> Bool {
        var episode = present ?? Episode(hasComeBack: lastEnd.map { now < $0 + Self.quiet } ?? false)
        episode.failures += 1
        episode.lastFailure = now
        defer { present = episode }
        return episode.kinds.insert(error.kind).inserted
    }

    /// Something of the same sort has succeeded, at a moment in monotonic nanoseconds.
    ///
    /// - Returns: how often it had failed, if the end is to be told.
    public mutating func succeeded(at now: UInt64) -> Int? {
        guard let episode = present, !episode.hasComeBack || now >= episode.lastFailure + Self.quiet else {
            return nil
        }
        present = nil
        lastEnd = now
        return episode.failures
    }
}

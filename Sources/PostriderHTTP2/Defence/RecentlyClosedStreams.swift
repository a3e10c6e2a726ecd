/// The last streams that were closed before the peer had ended them. The peer may have sent frames on them before it
/// learned of that.
struct RecentlyClosedStreams {
    /// The remembered streams, the youngest last.
    private var streams: [Int32] = []
    /// The youngest stream that is not remembered any more.
    private var lastForgotten: Int32 = 0
    /// The last stream that was refused because the peer had too many open.
    private(set) var lastRefused: Int32 = 0

    /// How many streams are remembered; 4 bytes each.
    private static let most = 100

    /// Remembers a closed stream that the peer has neither ended nor reset.
    mutating func remember(_ stream: Int32) {
        if streams.count == Self.most { lastForgotten = max(lastForgotten, streams.removeFirst()) }
        streams.append(stream)
    }

    /// Remembers a stream that was refused because the peer has too many open.
    mutating func refuse(_ stream: Int32, endsStream: Bool) {
        lastRefused = max(lastRefused, stream)
        if !endsStream { remember(stream) }
    }

    /// Whether frames on a closed stream are to be ignored, because the peer may have sent them before it knew. True
    /// also for old streams, which are not remembered.
    func mayHold(_ stream: Int32) -> Bool { stream <= lastForgotten || streams.contains(stream) }

    /// HEADERS arrived on a closed stream. Returns true once for each remembered stream: the peer may have sent them
    /// before it knew, and they end the stream.
    mutating func forgive(_ stream: Int32) -> Bool {
        guard let index = streams.firstIndex(of: stream) else { return false }
        streams.remove(at: index)
        return true
    }
}

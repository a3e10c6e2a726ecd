/// The last streams that were closed before their peer had ended them: it may have sent more before it learned of it.
struct RecentlyClosedStreams {
    /// Those that are remembered, the youngest last.
    private var streams: [Int32] = []
    /// The youngest one that is not remembered any more.
    private var lastForgotten: Int32 = 0
    /// The last stream that was refused because the peer has too many open.
    private(set) var lastRefused: Int32 = 0

    /// How many are remembered; 4 bytes each.
    private static let most = 100

    /// A stream is closed that the peer has neither ended nor reset.
    mutating func remember(_ stream: Int32) {
        if streams.count == Self.most { lastForgotten = max(lastForgotten, streams.removeFirst()) }
        streams.append(stream)
    }

    /// A stream is refused because the peer has too many open.
    mutating func refuse(_ stream: Int32, endsStream: Bool) {
        lastRefused = max(lastRefused, stream)
        if !endsStream { remember(stream) }
    }

    /// Whether the peer may not have ended a closed stream before it was closed: what comes on it is ignored. Old ones
    /// are not remembered.
    func mayHold(_ stream: Int32) -> Bool { stream <= lastForgotten || streams.contains(stream) }

    /// HEADERS come on a closed stream. True, once for each that is remembered: the peer may have sent them before, and
    /// they end it.
    mutating func forgive(_ stream: Int32) -> Bool {
        guard let index = streams.firstIndex(of: stream) else { return false }
        streams.remove(at: index)
        return true
    }
}

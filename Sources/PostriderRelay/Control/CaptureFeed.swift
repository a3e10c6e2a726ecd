import PostriderCaptures
import PostriderNotifications

/// Sends captures to programs that follow them (`GET /v1/captures/events`), as server-sent events. It lives on shard 0,
/// and every shard tells it of new captures.
///
/// A follower gets a few captures at a time, and the next ones when it has taken them, so that nothing heaps up for one
/// that is slow: the captures stay where they are. Those that are dropped there meanwhile it does not get.
final class CaptureFeed {
    /// Sends bytes on a stream; ``writable(_:)`` says when they are gone.
    typealias Send = ([UInt8]) -> Void

    private struct Follower {
        var query: CaptureQuery
        let send: Send
        /// Whether it has taken everything that was sent.
        var isReady = false
    }

    private let bench: TestBench
    private var followers: [Int: Follower] = [:]
    private var lastFollower = 0

    init(_ bench: TestBench) { self.bench = bench }

    /// Begins to follow captures; without a number in the query, those from now on. The caller sends something first.
    ///
    /// - Returns: the follower's number; nil if the limit of followers is reached.
    func follow(_ query: CaptureQuery, _ send: @escaping Send) -> Int? {
        guard followers.count < Limits.eventStreams else { return nil }
        // From here on, shards announce new captures.
        bench.countWaiting(1)
        var query = query
        query.filter.after = query.filter.after ?? bench.lastNumber
        query.last = Limits.capturesInEvents
        lastFollower += 1
        followers[lastFollower] = Follower(query: query, send: send)
        return lastFollower
    }

    /// Removes a follower.
    func leave(_ number: Int) {
        if followers.removeValue(forKey: number) != nil { bench.countWaiting(-1) }
    }

    /// A follower has taken everything that was sent.
    func writable(_ number: Int) {
        followers[number]?.isReady = true
        sendNext(number)
    }

    /// There are new captures.
    func capturesChanged() {
        for number in followers.keys { sendNext(number) }
    }

    private func sendNext(_ number: Int) {
        guard let follower = followers[number], follower.isReady else { return }
        let captures = bench.captures(follower.query)
        guard let last = captures.last else { return }
        followers[number]?.query.filter.after = last.number
        followers[number]?.isReady = false
        follower.send(captures.flatMap(\.event))
    }
}

import PostriderCaptures
import PostriderNotifications
import RelayFixtures
import Testing

@testable import PostriderRelay

@Suite("The captures that a program follows")
struct CaptureFeedTests {
    private let bench = TestBench { text throws(TestBench.RuleMistake) in throw TestBench.RuleMistake(text) }

    /// Captures a request that is answered.
    @discardableResult
    private func capture(isAnswered: Bool = true) -> Int {
        let number = bench.add(
            Capture(
                at: Samples.now, environment: .production, connection: .init(number: 1, peer: "test"),
                stream: Capture.Stream(number: 1), headers: [], claims: nil, body: [], bodyByteCount: 0,
                identity: "a"))
        if isAnswered { bench.note(number) { $0.outcome = .captured } }
        return number
    }

    /// The numbers of the captures that were sent at once.
    private static func numbers(_ bytes: [UInt8]) -> [Int] {
        String(decoding: bytes, as: UTF8.self).split(separator: "\n").compactMap { line in
            line.hasPrefix("id: ") ? Int(line.dropFirst(4)) : nil
        }
    }

    @Test("come from now on, when they are answered and the ones before are taken")
    func following() throws {
        let feed = CaptureFeed(bench)
        capture()
        var sent: [[Int]] = []
        let number = try #require(feed.follow(try CaptureQuery("")) { sent.append(Self.numbers($0)) })
        #expect(bench.isAwaited)
        capture()
        feed.capturesChanged()
        #expect(sent.isEmpty)
        feed.writable(number)
        #expect(sent == [[2]])
        let open = capture(isAnswered: false)
        capture()
        feed.writable(number)
        feed.capturesChanged()
        #expect(sent == [[2]])
        bench.note(open) { $0.outcome = .reset }
        feed.capturesChanged()
        #expect(sent == [[2], [3, 4]])
        feed.leave(number)
        feed.leave(number)
        capture()
        feed.writable(number)
        feed.capturesChanged()
        #expect(sent.count == 2 && !bench.isAwaited)
    }

    @Test("come from a number on, so many at once")
    func batches() throws {
        let feed = CaptureFeed(bench)
        for _ in 0..<Limits.capturesInEvents * 2 + 3 { capture() }
        var sent: [[Int]] = []
        let number = try #require(
            feed.follow(try CaptureQuery(events: "after=2")) { sent.append(Self.numbers($0)) })
        for _ in 0..<4 { feed.writable(number) }
        #expect(sent.map(\.count) == [Limits.capturesInEvents, Limits.capturesInEvents, 1])
        #expect(sent.flatMap(\.self) == Array(3...(Limits.capturesInEvents * 2 + 3)))
    }

    @Test("can be followed by so many")
    func bound() throws {
        let feed = CaptureFeed(bench)
        let query = try CaptureQuery("")
        for _ in 0..<Limits.eventStreams { #expect(feed.follow(query) { _ in } != nil) }
        #expect(feed.follow(query) { _ in } == nil)
    }
}

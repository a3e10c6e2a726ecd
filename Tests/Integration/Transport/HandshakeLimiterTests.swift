import Testing

@testable import PostriderTransport

@Suite("The pace of handshakes")
struct HandshakeLimiterTests {
    private let pace = HandshakeLimiter(horizonMilliseconds: 2_000, least: 3)
    private static let millisecond: UInt64 = 1_000_000

    /// Begins and ends handshakes of equal cost. Returns how many may then be under way.
    private func run(costing nanoseconds: UInt64) -> Int {
        for _ in 0..<6_000 {
            pace.began()
            pace.spend(nanoseconds)
            pace.ended()
        }
        let spare = pace.underWay
        var count = 0
        while pace.mayBegin {
            pace.began()
            count += 1
        }
        return spare + count
    }

    @Test(
        "as many may be under way as end within the horizon in half of the time, by what they cost",
        arguments: [(1, 1000), (10, 100), (2_000, 3)] as [(UInt64, Int)])
    func capacity(_ milliseconds: UInt64, _ expected: Int) {
        #expect(abs(run(costing: milliseconds * Self.millisecond) - expected) <= expected / 10)
    }

    @Test("A handshake gives its place back when it is done, and when it fails", arguments: [true, false])
    func place(fails: Bool) throws {
        let tls = try TestTLS()
        let loop = try EventLoop()
        loop.pace = pace
        var sessions = 0
        let listener = try loop.listen(try SocketAddress("127.0.0.1:0"), tls: tls.server) { _ in
            sessions += 1
            return Probe()
        }
        listener.isPaced = true
        let probe = Probe()
        probe.onOpen = { if fails { $0.send(Array("no TLS".utf8)) } }
        loop.connect(to: listener.address, tls: fails ? nil : (tls.client, "localhost"), session: probe)
        let before = pace.usualCost
        loop.turn { sessions + listener.counts.failed == 1 }
        #expect(listener.counts.failed == (fails ? 1 : 0))
        // It has ended, and what ends has begun: within one turn if its bytes are there at once.
        #expect(pace.usualCost != before && pace.underWay == 0)
    }
}

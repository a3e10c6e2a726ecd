import Testing

@testable import PostriderTransport

@Suite struct ConnectionLimiterTests {
    private static let second: UInt64 = 1_000_000_000

    private static func limits(_ change: (inout SourceLimits) -> Void = { _ in }) -> SourceLimits {
        var limits = SourceLimits(
            connections: 1000, attemptsPerSecond: 10, burst: 1000, handshakesPerSource: 1000,
            handshakes: 1000,
            sources: 1000)
        change(&limits)
        return limits
    }

    private static func source(_ address: String) throws -> ConnectionLimiter.Source {
        try #require(ConnectionLimiter.Source(try SocketAddress(address)))
    }

    @Test(
        "Sources are IPv4 addresses and IPv6 networks; a Unix socket is none",
        arguments: [
            ("192.0.2.1:1", "192.0.2.1:2", true), ("192.0.2.1:1", "192.0.2.2:1", false),
            ("127.0.0.1:1", "127.0.0.1:2", true),
            ("[2001:db8:1:2::3]:1", "[2001:db8:1:2:4::5]:1", true),
            ("[2001:db8:1:2::3]:1", "[2001:db8:1:3::3]:1", false), ("[::]:1", "0.0.0.0:1", false),
        ])
    func sources(first: String, second: String, areOne: Bool) throws {
        #expect((try Self.source(first) == Self.source(second)) == areOne)
        #expect(ConnectionLimiter.Source(try SocketAddress("unix:/run/x.sock")) == nil)
    }

    @Test("A source may have so many connections; each that goes makes room for one")
    func connections() throws {
        let gate = ConnectionLimiter(Self.limits { $0.connections = 2 })
        let (one, other) = (try Self.source("192.0.2.1:1"), try Self.source("192.0.2.2:1"))
        var tickets = [try gate.admit(one, now: 0), try gate.admit(one, now: 0)]
        #expect(throws: Refusal.connections) { try gate.admit(one, now: 0) }
        _ = try gate.admit(other, now: 0)
        tickets.removeLast()
        tickets.append(try gate.admit(one, now: 0))
        #expect(throws: Refusal.connections) { try gate.admit(one, now: 0) }
        withExtendedLifetime(tickets) {}
    }

    @Test("A source may begin a burst of connections, and then so many each second, refused ones among them")
    func attempts() throws {
        let gate = ConnectionLimiter(Self.limits { $0.burst = 5 })
        let source = try Self.source("192.0.2.1:1")
        for _ in 0..<5 { _ = try gate.admit(source, now: Self.second) }
        #expect(throws: Refusal.attempts) { try gate.admit(source, now: Self.second) }
        // The rate is ten per second, so one more is allowed each tenth of a second.
        for tenth in 1...20 as ClosedRange<UInt64> {
            let now = Self.second + tenth * Self.second / 10
            _ = try gate.admit(source, now: now)
            #expect(throws: Refusal.attempts) { try gate.admit(source, now: now) }
        }
        for _ in 0..<5 { _ = try gate.admit(source, now: 10 * Self.second) }
        #expect(throws: Refusal.attempts) { try gate.admit(source, now: 10 * Self.second) }
    }

    @Test("So many handshakes may be under way, of one source and of all")
    func handshakes() throws {
        let gate = ConnectionLimiter(
            Self.limits {
                $0.handshakesPerSource = 2
                $0.handshakes = 3
            })
        let (one, other) = (try Self.source("192.0.2.1:1"), try Self.source("192.0.2.2:1"))
        let first = try gate.admit(one, now: 0)
        let second = try gate.admit(one, now: 0)
        #expect(throws: Refusal.handshakes) { try gate.admit(one, now: 0) }
        first.handshakeEnded()
        first.handshakeEnded()
        let third = try gate.admit(one, now: 0)
        var fourth: ConnectionPermit? = try gate.admit(other, now: 0)
        #expect(throws: Refusal.handshakes) { try gate.admit(other, now: 0) }
        // A connection that ends in its handshake returns both places.
        fourth = nil
        fourth = try gate.admit(other, now: 0)
        withExtendedLifetime((first, second, third, fourth)) {}
    }

    @Test("Sources are forgotten when they are idle, and only so many are told apart")
    func table() throws {
        let gate = ConnectionLimiter(Self.limits { $0.sources = 3 })
        let sources = try (1...5).map { try Self.source("192.0.2.\($0):1") }
        let stays = try gate.admit(sources[0], now: Self.second)
        for source in sources[1...2] { _ = try gate.admit(source, now: Self.second) }
        #expect(throws: Refusal.sources) { try gate.admit(sources[3], now: Self.second) }
        #expect(gate.sourceCount == 3)
        _ = try gate.admit(sources[3], now: 3 * Self.second)
        #expect(gate.sourceCount == 2)
        withExtendedLifetime(stays) {}
    }

    @Test("A listener refuses what its gate does not let in, counts it, and tells of each")
    func listener() throws {
        let loop = try EventLoop()
        let listener = try loop.listen(try SocketAddress("127.0.0.1:0")) { _ in Probe() }
        listener.gate = ConnectionLimiter(Self.limits { $0.connections = 2 })
        let reports = ListenerReports()
        listener.observer = reports
        let probes = (0..<5).map { _ in Probe() }
        for probe in probes { loop.connect(to: listener.address, session: probe) }
        loop.turn { listener.counts.refused == 3 && probes.filter { !$0.reasons.isEmpty }.count == 3 }
        #expect(reports.refusals.map(\.refusal) == [.connections, .connections, .connections])
        #expect(
            reports.refusals.allSatisfy {
                $0.peer.address.hasPrefix("127.0.0.1:") && $0.peer.source?.description == "127.0.0.1"
            })
        #expect(listener.counts.accepted == 2)
        for probe in probes { probe.wire?.close(.localClose) }
        loop.turn { loop.connectionCount == 0 }
        let late = Probe()
        loop.connect(to: listener.address, session: late)
        loop.turn { late.openings == 1 && listener.counts.accepted == 3 }
    }

    @Test("A connection that is established does not count as a handshake any longer")
    func established() throws {
        let loop = try EventLoop()
        let listener = try loop.listen(try SocketAddress("127.0.0.1:0")) { _ in Probe() }
        listener.gate = ConnectionLimiter(Self.limits { $0.handshakesPerSource = 1 })
        let probes = (0..<3).map { _ in Probe() }
        for (count, probe) in probes.enumerated() {
            loop.connect(to: listener.address, session: probe)
            loop.turn { listener.counts.accepted == count + 1 || listener.counts.refused > 0 }
        }
        #expect(listener.counts.refused == 0)
    }
}

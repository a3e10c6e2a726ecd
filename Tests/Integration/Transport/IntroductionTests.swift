import PostriderProxies
import Testing

@testable import PostriderTransport

/// Connections of a load balancer at 127.0.0.1. What it sends as a header, and then TLS or nothing, comes from sockets
/// of the test.
@Suite("A connection of a load balancer")
struct IntroductionTests {
    private static let header = PreambleTests.proxy2
    /// The same from 2001:db8::7.
    private static let ipv6 = header(from: [0x20, 0x01, 0x0D, 0xB8] + zeros(11) + [7], port: [0x01, 0xBB])
    /// The same from 192.0.2.9, mapped to IPv6.
    private static let mapped = header(from: zeros(10) + [0xFF, 0xFF, 192, 0, 2, 9], port: [0x30, 0x39])

    private static func zeros(_ count: Int) -> [UInt8] { [UInt8](repeating: 0, count: count) }

    private static func header(from address: [UInt8], port: [UInt8]) -> [UInt8] {
        var bytes = Array(header.prefix(13))
        bytes += [0x21, 0, 36]
        bytes += address + zeros(16) + port
        return bytes + [0, 1]
    }

    private struct Case: Sendable {
        let (header, address, source): ([UInt8], String, String)

        init(_ header: [UInt8], _ address: String, _ source: String) {
            (self.header, self.address, self.source) = (header, address, source)
        }
    }

    private static let cases = [
        Case(header, "192.0.2.1:12345", "192.0.2.1"),
        Case(ipv6, "[2001:db8::7]:443", "2001:db8::/64"),
        Case(mapped, "192.0.2.9:12345", "192.0.2.9"),
        Case(Array("PROXY TCP4 192.0.2.1 192.0.2.2 12345 443\r\n".utf8), "192.0.2.1:12345", "192.0.2.1"),
        Case(Array("PROXY TCP6 ::ffff:192.0.2.1 ::1 80 443\r\n".utf8), "192.0.2.1:80", "192.0.2.1"),
    ]

    /// A listener without TLS that echoes, and what it has told.
    private struct Fixture {
        let loop: EventLoop
        let listener: Listener
        let reports = ListenerReports()
        let peers = Peers()

        final class Peers { var all: [Peer] = [] }

        init(tls: TestTLS? = nil, limits: ConnectionLimits = .server) throws {
            loop = try EventLoop()
            listener = try loop.listen(
                try SocketAddress("127.0.0.1:0"), tls: tls?.server, limits: limits
            ) { [peers] peer in
                peers.all.append(peer)
                return Probe.echo()
            }
            listener.loadBalancers = try NetworkList("127.0.0.0/8")
            listener.observer = reports
        }

        /// Connects, and sends the pieces one after the other.
        func connect(_ pieces: [[UInt8]]) -> Probe {
            let probe = Probe()
            loop.connect(to: listener.address, session: probe)
            loop.turn { probe.openings == 1 }
            for piece in pieces {
                probe.send(piece)
                for _ in 0..<3 { loop.turnBriefly() }
            }
            return probe
        }
    }

    @Test(
        "has the address that its header names, and the bytes behind the header",
        arguments: cases.indices)
    func introduced(index: Int) throws {
        let (header, address, source) = (
            Self.cases[index].header, Self.cases[index].address, Self.cases[index].source
        )
        let fixture = try Fixture()
        let whole = fixture.connect([header + [1, 2, 3]])
        let pieces = fixture.connect([Array(header.prefix(5)), Array(header.dropFirst(5)), [1, 2, 3]])
        fixture.loop.turn { whole.input == [1, 2, 3] && pieces.input == [1, 2, 3] }
        #expect(fixture.peers.all.map(\.address) == [address, address])
        #expect(fixture.peers.all.allSatisfy { $0.source?.description == source })
        #expect(fixture.reports.failures.isEmpty)
    }

    @Test("of its own has its own address")
    func local() throws {
        let fixture = try Fixture()
        let probe = fixture.connect([Array(Self.header.prefix(12)) + [0x20, 0, 0, 0, 9]])
        fixture.loop.turn { probe.input == [9] }
        #expect(fixture.peers.all.first?.source?.description == "127.0.0.1")
    }

    @Test("continues with TLS, of which a part may come with the header")
    func tls() throws {
        let tls = try TestTLS()
        for isPaced in [false, true] {
            let fixture = try Fixture(tls: tls)
            fixture.listener.isPaced = isPaced
            fixture.loop.pace = HandshakeLimiter(horizonMilliseconds: 5000, least: 10)
            let client = Probe()
            client.onOpen = { $0.send(Self.header) }
            fixture.loop.connect(to: fixture.listener.address, session: client)
            fixture.loop.turn { client.openings == 1 && client.flushes == 1 }
            // The header is sent: TLS begins on the same connection.
            let inner = Probe()
            try #require(client.wire as? Connection).startTLS((tls.client, "localhost"), for: inner)
            fixture.loop.turn { inner.openings == 1 && !fixture.peers.all.isEmpty }
            #expect(fixture.peers.all.map(\.address) == ["192.0.2.1:12345"])
            inner.send([7])
            fixture.loop.turn { inner.input == [7] }
            #expect(fixture.reports.handshakes == 1)
        }
    }

    @Test("without a header, or with one that is malformed, is cut with one sentence")
    func failures() throws {
        let fixture = try Fixture()
        let hello: [UInt8] = [0x16, 0x03, 0x01, 0x02, 0x00, 0x01]
        let wrong = Array("PROXY TCP4 192.0.2.256 192.0.2.2 1 2\r\n".utf8)
        for (index, bytes) in [hello, wrong].enumerated() {
            let probe = fixture.connect([bytes])
            fixture.loop.turn { !probe.reasons.isEmpty && fixture.reports.failures.count == index + 1 }
        }
        let failures = fixture.reports.failures
        #expect(failures.map(\.reason.fault) == ["PROXY header", "PROXY header"])
        #expect("\(failures[0].reason)".hasPrefix("the load balancer sent no PROXY header: have it send one"))
        #expect("\(failures[1].reason)".hasSuffix("that cannot be read, with the address 192.0.2.256"))
        #expect(failures.allSatisfy { $0.peer.address.hasPrefix("127.0.0.1:") })
        #expect(fixture.peers.all.isEmpty)
    }

    @Test("that keeps its header back is cut in time, and one that only checks the port is no fault")
    func silence() throws {
        var limits = ConnectionLimits.server
        limits.handshakeMilliseconds = 20
        let fixture = try Fixture(limits: limits)
        let slow = fixture.connect([Array(Self.header.prefix(20))])
        fixture.loop.turn { !slow.reasons.isEmpty && fixture.reports.failures.count == 1 }
        #expect(
            fixture.reports.failures[0].reason == .notIntroduced(ProxyHeaderFailure.late.description))
        let check = fixture.connect([])
        check.wire?.close(.localClose)
        fixture.loop.turn { fixture.reports.failures.count == 2 }
        #expect(fixture.reports.failures[1].reason.fault == nil)
    }

    @Test("counts as its client's: a client's limits do not concern others behind the same load balancer")
    func limits() throws {
        let fixture = try Fixture()
        fixture.listener.gate = ConnectionLimiter(
            SourceLimits(
                connections: 1, attemptsPerSecond: 100, burst: 100, handshakesPerSource: 10, handshakes: 10,
                sources: 10))
        let first = fixture.connect([Self.header + [1]])
        let same = fixture.connect([Self.header + [2]])
        let other = fixture.connect([Self.ipv6 + [3]])
        fixture.loop.turn { first.input == [1] && other.input == [3] && !same.reasons.isEmpty }
        #expect(same.input.isEmpty)
        #expect(fixture.reports.refusals.map(\.refusal) == [.connections])
        #expect(fixture.reports.refusals.map(\.peer.address) == ["192.0.2.1:12345"])
        #expect(fixture.reports.failures.isEmpty)
        first.wire?.close(.localClose)
        fixture.loop.turn { !first.reasons.isEmpty }
        fixture.loop.turnAFewTimes()
        let again = fixture.connect([Self.header + [4]])
        fixture.loop.turn { again.input == [4] }
    }

    @Test("is read as TLS if it comes from elsewhere, so nobody else chooses a source")
    func strangers() throws {
        let tls = try TestTLS()
        let fixture = try Fixture(tls: tls)
        fixture.listener.loadBalancers = try NetworkList("127.0.0.2, 10.0.0.0/8")
        let probe = fixture.connect([Self.header])
        fixture.loop.turn { !fixture.reports.failures.isEmpty && !probe.reasons.isEmpty }
        #expect(fixture.reports.failures[0].reason == .notTLS(.proxyProtocol2))
        #expect("\(fixture.reports.failures[0].reason)".contains("its address is none of load-balancers"))
        #expect(fixture.reports.failures[0].peer.source?.description == "127.0.0.1")
    }
}

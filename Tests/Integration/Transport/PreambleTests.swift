import PostriderCrypto
import Testing

@testable import PostriderTransport

@Suite("What comes instead of TLS")
struct PreambleTests {
    static let proxy2: [UInt8] = [
        0x0D, 0x0A, 0x0D, 0x0A, 0x00, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A, 0x21, 0x11, 0x00, 0x0C,
        192, 0, 2, 1, 192, 0, 2, 2, 0x30, 0x39, 0x01, 0xBB,
    ]
    static let cases: [(bytes: [UInt8], preamble: Preamble)] = [
        (Array("PROXY TCP4 192.0.2.1 192.0.2.2 12345 443\r\n".utf8), .proxyProtocol1),
        (Array("PROXY TCP6 2001:db8::1 2001:db8::2 12345 443\r\n".utf8), .proxyProtocol1),
        (Array("PROXY UNKNOWN\r\n".utf8), .proxyProtocol1),
        (proxy2, .proxyProtocol2),
        (Array("GET / HTTP/1.1\r\nhost: relay\r\n\r\n".utf8), .plainHTTP),
        (Array("POST /3/device/ab HTTP/1.1\r\n\r\n".utf8), .plainHTTP),
        (Array("OPTIONS * HTTP/1.1\r\n\r\n".utf8), .plainHTTP),
        (Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8), .plainHTTP),
    ]

    /// Returns what the listener reports about a client that sends these bytes.
    private func failure(_ bytes: [UInt8]) throws -> (CloseReason, Peer)? {
        let loop = try EventLoop()
        let listener = try loop.listen(try SocketAddress("127.0.0.1:0"), tls: try TestTLS().server) { _ in
            Probe()
        }
        let reports = ListenerReports()
        listener.observer = reports
        let probe = Probe()
        probe.onOpen = { $0.send(bytes) }
        loop.connect(to: listener.address, session: probe)
        loop.turn { !reports.failures.isEmpty && !probe.reasons.isEmpty }
        #expect(probe.input.isEmpty || probe.input.first == 21)
        return reports.failures.first
    }

    @Test("is named, with what to do", .bug(id: "R13"), arguments: cases.indices)
    func named(index: Int) throws {
        let (bytes, preamble) = Self.cases[index]
        let (reason, peer) = try #require(try failure(bytes))
        #expect(reason == .notTLS(preamble))
        #expect(reason.fault == "\(preamble)")
        let remedy = preamble == .plainHTTP ? "use https" : "have the load balancer send none"
        #expect("\(reason)".contains(remedy))
        #expect(peer.address.hasPrefix("127.0.0.1:") && peer.source?.description == "127.0.0.1")
    }

    @Test("and is none of these has the name that OpenSSL has for it", .bug(id: "R14"))
    func unknown() throws {
        let (reason, _) = try #require(try failure(Array("SSH-2.0-OpenSSH_9.2p1\r\n".utf8)))
        #expect(reason.fault == "wrong version number")
    }

    @Test("a failed handshake has the name of the alert, ours or the client's", .bug(id: "R14"))
    func alerts() throws {
        let (ours, strange) = (try TestTLS(), try TestTLS())
        let loop = try EventLoop()
        let listener = try loop.listen(try SocketAddress("127.0.0.1:0"), tls: ours.server) { _ in Probe() }
        let reports = ListenerReports()
        var faults: [String?] { reports.failures.map(\.reason.fault) }
        listener.observer = reports
        let client = Probe()
        loop.connect(to: listener.address, tls: (strange.client, "localhost"), session: client)
        loop.turn { faults.count == 1 && !client.reasons.isEmpty }
        #expect(faults == ["unknown_ca"])
        #expect("\(reports.failures[0].reason)".hasSuffix("(alert unknown_ca received)"))
        #expect(client.reasons.first?.fault == "unknown_ca")
        // It is no fault of a client to disconnect in the middle: load balancers check in this way whether a port is
        // open.
        let gone = Probe()
        gone.onOpen = { $0.wire?.close(.localClose) }
        loop.connect(to: listener.address, session: gone)
        loop.turn { faults.count == 2 }
        #expect(faults[1] == nil)
    }
}

@Suite("A source")
struct SourceTests {
    @Test("is an IPv4 address or an IPv6 /64", .bug(id: "R15"))
    func description() throws {
        #expect(ConnectionLimiter.Source(try SocketAddress("192.0.2.7:4711"))?.description == "192.0.2.7")
        let one = try SocketAddress("[2001:db8:1:2::7]:1")
        let other = try SocketAddress("[2001:db8:1:2:9::]:2")
        #expect(ConnectionLimiter.Source(one)?.description == "2001:db8:1:2::/64")
        #expect(ConnectionLimiter.Source(one) == ConnectionLimiter.Source(other))
        #expect(ConnectionLimiter.Source(try SocketAddress("unix:/a")) == nil)
    }
}

import Glibc
import PostriderCrypto
import PostriderTLS
import Testing

@testable import PostriderTransport

@Suite struct TLSConnectionTests {
    @Test("An echo over TLS keeps every byte, also of a large answer")
    func echo() throws {
        let pair = try Pair(server: .echo(), tls: try TestTLS())
        #expect(pair.server.wire?.peer.negotiatedProtocol == "h2")
        #expect(pair.client.wire?.peer.negotiatedProtocol == "h2")
        #expect(pair.client.wire?.peer.certificate?.isVerified == true)
        #expect(pair.server.wire?.peer.certificate == nil)
        let bytes = pattern(300_000)
        pair.client.send(bytes)
        pair.loop.turn { pair.client.input.count == bytes.count }
        #expect(pair.client.input == bytes)
    }

    @Test("The parameters of TLS are recorded for listeners that want them, and for no others")
    func details() throws {
        let (loop, tls) = (try EventLoop(), try TestTLS())
        var peers: [Peer] = []
        let listener = try loop.listen(SocketAddress("127.0.0.1:0"), tls: tls.server) { peer in
            peers.append(peer)
            return Probe()
        }
        for isRecorded in [false, true] {
            listener.recordsTLSDetails = isRecorded
            let client = Probe()
            loop.connect(to: listener.address, tls: (tls.client, "localhost"), session: client)
            loop.turn { client.openings == 1 && peers.count == (isRecorded ? 2 : 1) }
        }
        #expect(peers[0].tls == nil)
        let details = try #require(peers[1].tls)
        #expect(details.version == "TLSv1.3" && details.serverName == "localhost")
        #expect(details.cipher.hasPrefix("TLS_"))
    }

    @Test("Blocked TLS output goes on where it stopped")
    func slowReader() throws {
        let pair = try Pair(tls: try TestTLS())
        let reader = try #require(pair.client.wire as? Connection)
        try (pair.server.wire as? Connection)?.narrow()
        reader.setReading(false)
        pair.server.send(pattern(1_000_000))
        pair.loop.turn { pair.server.wire?.isBlocked == true }
        reader.setReading(true)
        pair.loop.turn { pair.client.input.count == 1_000_000 }
        #expect(pair.client.input == pattern(1_000_000))
    }

    @Test("What a client sends together with the end of its handshake is received")
    func earlyBytes() throws {
        let client = Probe()
        client.onOpen = { $0.send([1, 2, 3]) }
        let pair = try Pair(client: client, tls: try TestTLS())
        pair.loop.turn { pair.server.input == [1, 2, 3] }
    }

    @Test("What TLS holds of a record is received, however little a turn takes")
    func heldInput() throws {
        var limits = ConnectionLimits.server
        limits.readsPerTurn = 1
        let pair = try Pair(serverLimits: limits, tls: try TestTLS())
        pair.client.send(pattern(300_000))
        pair.loop.turn { pair.server.input.count == 300_000 }
        #expect(pair.server.input == pattern(300_000))
    }

    @Test("What TLS holds while output is blocked is received when that has gone, and not before")
    func heldInputWhileBlocked() throws {
        var limits = ConnectionLimits.server
        limits.readsPerTurn = 1
        let pair = try Pair(serverLimits: limits, tls: try TestTLS())
        let reader = try #require(pair.client.wire as? Connection)
        try (pair.server.wire as? Connection)?.narrow()
        reader.setReading(false)
        pair.server.onInput = { probe in
            probe.onInput = { _ in }
            probe.send(pattern(1_000_000))
        }
        pair.client.send(pattern(50_000))
        pair.loop.turn { pair.server.wire?.isBlocked == true }
        pair.loop.turnAFewTimes()
        // The server has one record; the beginning of the next one waits.
        #expect(pair.server.input.count == 16_384)
        reader.setReading(true)
        pair.loop.turn { pair.server.input.count == 50_000 && pair.client.input.count == 1_000_000 }
        #expect(pair.server.input == pattern(50_000))
    }

    @Test("A closed TLS connection sends its last words, then its end")
    func orderlyClose() throws {
        let pair = try Pair(tls: try TestTLS())
        pair.server.output = pattern(100_000)
        pair.server.wire?.close(.localClose)
        pair.loop.turn { pair.loop.connectionCount == 0 }
        #expect(pair.client.input == pattern(100_000))
        #expect(pair.client.inputEnds == 1)
        #expect(pair.server.reasons == [.localClose])
    }

    @Test("A peer that never begins the handshake is cut off after the limit")
    func handshakeTimeout() throws {
        let loop = try EventLoop()
        var limits = ConnectionLimits.server
        limits.handshakeMilliseconds = 20
        var sessions = 0
        let listener = try loop.listen(
            try SocketAddress("127.0.0.1:0"), tls: try TestTLS().server, limits: limits
        ) { _ in
            sessions += 1
            return Probe()
        }
        let silent = Probe()
        loop.connect(to: listener.address, session: silent)
        loop.turn { !silent.reasons.isEmpty }
        #expect(listener.counts.failed == 1)
        #expect(sessions == 0)
    }

    @Test("A server that never answers the handshake is given up")
    func handshakeTimeoutOfClient() throws {
        let loop = try EventLoop()
        var limits = ConnectionLimits.client
        limits.handshakeMilliseconds = 20
        let listener = try loop.listen(try SocketAddress("127.0.0.1:0")) { _ in Probe() }
        let probe = Probe()
        loop.connect(
            to: listener.address, tls: (try TestTLS().client, "localhost"), limits: limits, session: probe)
        loop.turn { !probe.reasons.isEmpty }
        #expect(probe.reasons == [.handshakeTimeout])
    }

    @Test(
        "Renewed TLS serves the connections that begin from then on; those that are open go on as they began")
    func renewal() throws {
        let (old, new) = (try TestTLS(), try TestTLS())
        let loop = try EventLoop()
        let tls = RenewableTLS(old.server)
        let listener = try loop.listen(try SocketAddress("127.0.0.1:0"), renewable: tls) { _ in Probe.echo() }
        func connect(_ context: TLSContext) -> Probe {
            let probe = Probe()
            loop.connect(to: listener.address, tls: (context, "localhost"), session: probe)
            loop.turn { probe.openings + probe.reasons.count > 0 }
            return probe
        }
        let early = connect(old.client)
        tls.renew(new.server)
        let late = connect(new.client)
        #expect(connect(old.client).openings == 0)
        for probe in [early, late] {
            probe.send([1, 2, 3])
            loop.turn { probe.input == [1, 2, 3] || !probe.reasons.isEmpty }
            #expect(probe.reasons.isEmpty)
        }
    }

    @Test("A substitute serves as many connections as it is for, and then the usual TLS does")
    func substitute() throws {
        let (usual, other) = (try TestTLS(), try TestTLS())
        let loop = try EventLoop()
        let tls = RenewableTLS(usual.server)
        let listener = try loop.listen(try SocketAddress("127.0.0.1:0"), renewable: tls) { _ in Probe() }
        func connects(_ context: TLSContext) -> Bool {
            let probe = Probe()
            loop.connect(to: listener.address, tls: (context, "localhost"), session: probe)
            loop.turn { probe.openings + probe.reasons.count > 0 }
            return probe.openings == 1
        }
        tls.substitute(other.server, forNext: 2)
        #expect([other.client, usual.client, usual.client].map(connects) == [true, false, true])
        tls.substitute(other.server, forNext: 2)
        tls.substitute(other.server, forNext: 0)
        #expect(connects(usual.client))
    }

    @Test("A session that pauses reading gets nothing until it resumes, and then what came meanwhile")
    func pausedReading() throws {
        let certificates = try TestTLS()
        let loop = try EventLoop()
        let server = Probe()
        server.onInput = { $0.wire?.pauseReading() }
        let listener = try loop.listen(try SocketAddress("127.0.0.1:0"), tls: certificates.server) { _ in
            server
        }
        let client = Probe()
        loop.connect(to: listener.address, tls: (certificates.client, "localhost"), session: client)
        client.onOpen = { $0.send([1]) }
        loop.turn { server.input == [1] }
        client.send([2])
        server.send([3])
        loop.turn { client.input == [3] }
        // Output goes on, and the input waits.
        loop.turnAFewTimes()
        #expect(server.input == [1])
        server.onInput = { _ in }
        server.wire?.resumeReading()
        loop.turn { server.input == [1, 2] }
        #expect(server.reasons.isEmpty)
    }

    @Test("Plain text on a TLS port, a strange authority and a wrong name fail the handshake with a sentence")
    func handshakeFailures() throws {
        let (ours, strange) = (try TestTLS(), try TestTLS())
        let loop = try EventLoop()
        let listener = try loop.listen(try SocketAddress("127.0.0.1:0"), tls: ours.server) { _ in Probe() }
        let clear = Probe()
        clear.onOpen = { $0.send(Array("GET / HTTP/1.1\r\n\r\n".utf8)) }
        loop.connect(to: listener.address, session: clear)
        loop.turn { listener.counts.failed == 1 && !clear.reasons.isEmpty }
        for (context, name) in [(strange.client, "localhost"), (ours.client, "elsewhere.example")] {
            let probe = Probe()
            loop.connect(to: listener.address, tls: (context, name), session: probe)
            loop.turn { !probe.reasons.isEmpty }
            guard case .handshakeFailed(let why, _) = probe.reasons.first else {
                Issue.record("\(probe.reasons)")
                continue
            }
            #expect(!why.isEmpty)
        }
        loop.turn { listener.counts.failed == 3 }
        loop.turn { loop.connectionCount == 0 }
    }
}

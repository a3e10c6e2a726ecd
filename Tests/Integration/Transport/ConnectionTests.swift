import Glibc
import Testing

@testable import PostriderTransport

@Suite struct ConnectionTests {
    @Test("What a client sends comes back from an echo", arguments: Family.allCases)
    func echo(family: Family) throws {
        let pair = try Pair(family, server: .echo())
        let bytes = pattern(300_000)
        pair.client.send(bytes)
        pair.loop.turn { pair.client.input.count == bytes.count }
        #expect(pair.client.input == bytes)
        #expect(pair.listener.counts.accepted == 1)
        #expect(pair.loop.connectionCount == 2)
    }

    @Test("Many requests for a flush within a turn are one flush")
    func gatheredFlush() throws {
        let pair = try Pair()
        let before = pair.client.flushes
        for byte in 0..<100 as Range<UInt8> { pair.client.send([byte]) }
        pair.loop.turn { pair.server.input.count == 100 }
        #expect(pair.server.input == Array(0..<100))
        #expect(pair.client.flushes == before + 1)
    }

    @Test("Output that a slow reader does not take waits, and arrives in order", arguments: Family.allCases)
    func slowReader(family: Family) throws {
        let pair = try Pair(family)
        let bytes = pattern(2_000_000)
        let reader = try #require(pair.client.wire as? Connection)
        try (pair.server.wire as? Connection)?.narrow()
        reader.setReading(false)
        pair.server.send(Array(bytes[..<1_000_000]))
        pair.loop.turn { pair.server.wire?.isBlocked == true }
        let flushes = pair.server.flushes
        pair.server.send(Array(bytes[1_000_000...]))
        pair.loop.turnAFewTimes()
        #expect(pair.server.flushes == flushes, "a session is not asked to flush while its output is blocked")
        reader.setReading(true)
        pair.loop.turn { pair.client.input.count == bytes.count }
        #expect(pair.client.input == bytes)
        #expect(pair.server.wire?.isBlocked == false)
    }

    @Test("A server does not read from a peer that does not take its output; a client does")
    func pausesReading() throws {
        let pair = try Pair()
        let server = try #require(pair.server.wire as? Connection)
        let client = try #require(pair.client.wire as? Connection)
        for connection in [server, client] { connection.writing.awaits = .writable }
        #expect(server.isReadingPaused)
        #expect(!client.isReadingPaused)
        for connection in [server, client] { connection.writing.awaits = [] }
    }

    @Test("Output that waits too long ends the connection")
    func writeDeadline() throws {
        var limits = ConnectionLimits.server
        limits.writeMilliseconds = 20
        let pair = try Pair(serverLimits: limits)
        let reader = try #require(pair.client.wire as? Connection)
        try (pair.server.wire as? Connection)?.narrow()
        reader.setReading(false)
        pair.server.send(pattern(2_000_000))
        pair.loop.turn { !pair.server.reasons.isEmpty }
        #expect(pair.server.reasons == [.writeTimeout])
        #expect(pair.server.wire == nil)
    }

    @Test("A closed connection sends its last words, then its end", arguments: Family.allCases)
    func orderlyClose(family: Family) throws {
        let pair = try Pair(family)
        pair.server.output = pattern(300_000)
        pair.server.wire?.close(.localClose)
        pair.server.wire?.close(.overloaded)
        pair.loop.turn { !pair.client.reasons.isEmpty && !pair.server.reasons.isEmpty }
        #expect(pair.client.input == pattern(300_000))
        #expect(pair.client.inputEnds == 1)
        #expect(pair.server.reasons == [.localClose])
        #expect(pair.client.reasons == [.peerClosed])
        pair.loop.turn { pair.loop.connectionCount == 0 }
    }

    @Test(
        "What a closed session could not say in one flush is sent before the end", arguments: Family.allCases)
    func lastWordsInParts(family: Family) throws {
        let pair = try Pair(family)
        var rest: [[UInt8]] = [[2], [3]]
        pair.server.onFlush = { probe in
            guard !rest.isEmpty else { return }
            probe.send(rest.removeFirst())
        }
        pair.server.output = [1]
        pair.server.wire?.close(.localClose)
        pair.loop.turn { !pair.client.reasons.isEmpty && !pair.server.reasons.isEmpty }
        #expect(pair.client.input == [1, 2, 3])
        #expect(pair.server.reasons == [.localClose])
    }

    @Test("A closed connection whose peer does not end is let go after a while")
    func lingering() throws {
        var limits = ConnectionLimits.server
        limits.lingerMilliseconds = 20
        let pair = try Pair(serverLimits: limits)
        pair.client.onEnd = { _ in }
        pair.server.wire?.close(.localClose)
        pair.loop.turn { pair.client.inputEnds == 1 && pair.loop.connectionCount == 1 }
        #expect(pair.client.reasons == [])
    }

    @Test("Last words reach a peer that is still sending")
    func closeAgainstInput() throws {
        let pair = try Pair()
        pair.client.send(pattern(500_000))
        pair.server.onInput = { probe in
            guard probe.wire != nil else { return }
            probe.output = [1, 2, 3]
            probe.wire?.close(.protocolError("too much"))
            probe.wire = nil
        }
        pair.loop.turn { pair.client.inputEnds == 1 }
        #expect(pair.client.input == [1, 2, 3])
        #expect(pair.server.reasons == [.protocolError("too much")])
    }

    @Test("Last words are heard by a peer that has something to say itself when they come")
    func lastWordsBeforeOutput() throws {
        var limits = ConnectionLimits.client
        limits.lingerMilliseconds = 0
        let pair = try Pair(.unix, clientLimits: limits)
        pair.client.send([1, 2, 3])
        pair.client.wire?.close(.localClose)
        pair.server.send([4])
        pair.loop.turn { !pair.server.reasons.isEmpty }
        #expect(pair.server.input == [1, 2, 3])
        #expect(pair.server.reasons.count == 1)
    }

    @Test("An aborted connection says nothing more, and tells its session after the call returns")
    func abort() throws {
        let pair = try Pair()
        pair.server.output = [1]
        pair.server.wire?.setNeedsFlush()
        pair.server.wire?.abort(.overloaded)
        #expect(pair.server.reasons.isEmpty)
        pair.loop.turn { !pair.client.reasons.isEmpty }
        #expect(pair.server.reasons == [.overloaded])
        #expect(pair.client.input.isEmpty)
    }

    @Test("A peer that ended its own output still receives", arguments: Family.allCases)
    func halfClose(family: Family) throws {
        let pair = try Pair(family)
        pair.server.onEnd = { $0.send([9, 9, 9]) }
        pair.client.send([1, 2])
        pair.loop.turn { pair.server.input == [1, 2] }
        let client = try #require(pair.client.wire as? Connection)
        Socket.endOutput(client.number)
        pair.loop.turn { pair.client.input == [9, 9, 9] }
        #expect(pair.server.inputEnds == 1)
        #expect(pair.server.reasons.isEmpty)
        pair.server.wire?.close(.localClose)
        pair.loop.turn { pair.loop.connectionCount == 0 }
        #expect(pair.server.reasons == [.localClose])
    }

    @Test("A peer that is cut off is noticed", arguments: Family.allCases)
    func reset(family: Family) throws {
        let pair = try Pair(family)
        let client = try #require(pair.client.wire as? Connection)
        var linger = Glibc.linger(l_onoff: 1, l_linger: 0)
        _ = unsafe setsockopt(client.number, SOL_SOCKET, SO_LINGER, &linger, 8)
        client.abort(.localClose)
        pair.loop.turn { !pair.server.reasons.isEmpty }
        #expect(pair.server.reasons == [family == .unix ? .peerClosed : .peerReset])
        #expect(pair.client.reasons == [.localClose])
    }

    @Test("The kernel vouches for the other end of a Unix socket")
    func credentials() throws {
        let pair = try Pair(.unix)
        let expected = Peer.Credentials(user: getuid(), group: getgid(), process: getpid())
        #expect(pair.server.wire?.peer.credentials == expected)
        #expect(pair.client.wire?.peer.credentials == expected)
        let plain = try Pair(.ipv4)
        #expect(plain.server.wire?.peer.credentials == nil)
        #expect(plain.server.wire?.peer.address.hasPrefix("127.0.0.1:") == true)
    }

    @Test("A late event of a descriptor does not reach who is watched under its number now")
    func staleEvents() throws {
        let pair = try Pair()
        let connection = try #require(pair.client.wire as? Connection)
        let stale = connection.token
        pair.loop.adopt(try #require(connection.detach()))
        #expect(connection.token != stale)
        #expect(!pair.loop.holds(stale))
        // If the connection had noticed it, it would have been the end of the input.
        connection.reading.hasEnded = true
        pair.loop.dispatch((stale, [.readable, .hangUp, .error]))
        connection.reading.hasEnded = false
        pair.loop.turnAFewTimes()
        #expect(pair.client.reasons.isEmpty)
        pair.server.send([1])
        pair.loop.turn { pair.client.input == [1] }
    }

    @Test("The time to connect counts from the attempt, however long before it the loop was made")
    func timeFromAttempt() throws {
        let loop = try EventLoop()
        let made = loop.now
        loop.connect(to: try SocketAddress("127.0.0.1:9"), session: Probe())
        #expect(loop.now > made)
    }

    @Test("stop() cuts open connections and tells each session exactly once")
    func stop() throws {
        let pair = try Pair()
        let third = Probe()
        pair.loop.connect(to: pair.listener.address, session: third)
        pair.client.wire?.close(.localClose)
        pair.loop.stop()
        pair.loop.run()
        #expect(pair.server.reasons == [.loopStopped])
        #expect(pair.client.reasons == [.loopStopped])
        #expect(third.reasons == [.loopStopped])
        #expect(pair.loop.connectionCount == 0)
    }
}

import PostriderSystem
import PostriderTLS
import Testing

@testable import PostriderTransport

/// Echoes its input. After the byte 255 it moves to another loop; it counts the bytes that it has received.
private final class Wanderer: ConnectionHandler {
    var wire: (any ConnectionOutput)?
    var openings = 0
    var closings = 0
    var flushes = 0
    var output: [UInt8] = []
    /// Called at the end of `received`.
    var onMove: (Wanderer) -> Void = { _ in }

    func opened(on wire: any ConnectionOutput) {
        self.wire = wire
        openings += 1
    }

    func received(_ bytes: Span<UInt8>) {
        var moves = false
        for index in bytes.indices {
            output.append(bytes[index])
            if bytes[index] == 255 { moves = true }
        }
        wire?.setNeedsFlush()
        if moves { onMove(self) }
    }

    func inputEnded() { wire?.close(.peerClosed) }

    func flush(into output: inout [UInt8]) {
        flushes += 1
        output.append(contentsOf: self.output)
        self.output = []
    }

    func closed(_ reason: CloseReason) {
        closings += 1
        wire = nil
    }
}

private enum Message: Sendable {
    case adopt(DetachedConnection)
    case stop
}

/// Starts a loop on its own thread that adopts the connections in its mailbox, and sends them on when they want to
/// move.
private func startStation(_ mailbox: Mailbox<Message>, sendsTo next: Mailbox<Message>) throws -> ThreadHandle
{
    try Thread.spawn(name: "station") {
        do {
            let loop = try EventLoop()
            try loop.attach(mailbox) { messages in
                for message in messages {
                    switch message {
                    case .stop: loop.stop()
                    case .adopt(let crate):
                        let session = loop.adopt(crate) as? Wanderer
                        session?.onMove = { move($0, to: next) }
                    }
                }
            }
            loop.run()
        } catch {
            Issue.record(error)
        }
    }
}

private func move(_ session: Wanderer, to mailbox: Mailbox<Message>) {
    guard let connection = session.wire as? Connection, let crate = connection.detach() else {
        Issue.record("a live connection can be moved")
        return
    }
    #expect(mailbox.post(.adopt(crate)))
}

@Suite struct CrateTests {
    @Test(
        "A live connection moves between two loops, there and back, without losing a byte",
        arguments: [false, true])
    func thereAndBack(usesTLS: Bool) throws {
        let tls = usesTLS ? try TestTLS() : nil
        let loop = try EventLoop()
        let home = try Mailbox<Message>(capacity: 16)
        let away = try Mailbox<Message>(capacity: 16)
        let station = try startStation(away, sendsTo: home)
        let wanderer = Wanderer()
        wanderer.onMove = { move($0, to: away) }
        var returns = 0
        try loop.attach(home) { messages in
            for message in messages {
                guard case .adopt(let crate) = message else { continue }
                let session = loop.adopt(crate) as? Wanderer
                session?.onMove = { move($0, to: away) }
                returns += 1
            }
        }
        let listener = try loop.listen(try SocketAddress("127.0.0.1:0"), tls: tls?.server) { _ in wanderer }
        let client = Probe()
        loop.connect(to: listener.address, tls: tls.map { ($0.client, "localhost") }, session: client)
        loop.turn { client.openings == 1 }
        var expected: [UInt8] = []
        for round in 0..<40 {
            // The bytes after the 255 are still in TLS or in the socket when the connection moves.
            let bytes =
                [UInt8](repeating: UInt8(round), count: 40_000) + [255] + pattern(30_000).map { $0 & 127 }
            expected += bytes
            client.send(bytes)
            loop.turn { client.input.count == expected.count }
        }
        #expect(client.input == expected)
        loop.turn { returns == 20 }
        #expect(wanderer.openings == 1)
        client.wire?.close(.localClose)
        loop.turn { wanderer.closings == 1 && loop.connectionCount == 0 }
        #expect(away.post(.stop))
        station.join()
    }

    @Test("Bytes that TLS holds when the connection moves are received by the loop that adopts it")
    func bufferedBytes() throws {
        let tls = try TestTLS()
        var limits = ConnectionLimits.server
        limits.readsPerTurn = 1
        let pair = try Pair(serverLimits: limits, tls: tls)
        let server = try #require(pair.server.wire as? Connection)
        var crate: DetachedConnection?
        pair.server.onInput = { _ in crate = crate ?? server.detach() }
        // There are more bytes than one read takes, and the last of them are the beginning of a record.
        server.setReading(false)
        pair.loop.turnAFewTimes()
        pair.client.send(pattern(40_000))
        pair.loop.turnAFewTimes()
        server.setReading(true)
        pair.loop.turn { crate != nil }
        #expect(pair.server.input == pattern(16_384))
        let hasBufferedInput = server.stream.hasBufferedInput
        #expect(hasBufferedInput)
        #expect(pair.loop.connectionCount == 1)
        let other = try EventLoop()
        other.adopt(try #require(crate))
        #expect(other.connectionCount == 1)
        other.turn { pair.server.input == pattern(40_000) }
    }

    @Test("Output that was blocked goes on in the loop that adopts the connection")
    func blockedOutput() throws {
        let pair = try Pair()
        let (server, client) = (
            try #require(pair.server.wire as? Connection), try #require(pair.client.wire as? Connection)
        )
        try server.narrow()
        client.setReading(false)
        pair.server.send(pattern(1_000_000))
        pair.loop.turn { server.isBlocked }
        let other = try EventLoop()
        other.adopt(try #require(server.detach()))
        client.setReading(true)
        while pair.client.input.count < 1_000_000 {
            other.turnBriefly()
            pair.loop.turnBriefly()
        }
        #expect(pair.client.input == pattern(1_000_000))
        #expect(!server.isBlocked)
    }

    @Test("Output that was blocked when its connection moved still has its deadline")
    func blockedDeadline() throws {
        var limits = ConnectionLimits.server
        limits.writeMilliseconds = 20
        let pair = try Pair(serverLimits: limits)
        let (server, client) = (
            try #require(pair.server.wire as? Connection), try #require(pair.client.wire as? Connection)
        )
        try server.narrow()
        client.setReading(false)
        pair.server.send(pattern(1_000_000))
        pair.loop.turn { server.isBlocked }
        let other = try EventLoop()
        other.adopt(try #require(server.detach()))
        other.turn { !pair.server.reasons.isEmpty }
        #expect(pair.server.reasons == [.writeTimeout])
    }

    @Test(
        "A connection that is let go when its handshake is done goes on for another session, which hears all",
        arguments: [false, true])
    func forAnother(usesTLS: Bool) throws {
        let (server, first, second) = (Probe(), Probe(), Probe())
        server.onOpen = { $0.send([1, 2, 3]) }
        var crate: DetachedConnection?
        first.onOpen = { crate = ($0.wire as? Connection)?.detach() }
        let pair = try Pair(server: server, client: first, tls: usesTLS ? try TestTLS() : nil)
        pair.loop.turnAFewTimes()
        pair.loop.adopt(try #require(crate), for: second)
        #expect(second.openings == 1)
        second.send([4])
        pair.loop.turn { second.input == [1, 2, 3] && server.input == [4] }
        #expect(first.openings == 1 && first.input.isEmpty && first.reasons.isEmpty)
    }

    @Test("A connection that moves in the turn in which its interest changed is heard by the other loop")
    func changedInterest() throws {
        let pair = try Pair()
        let server = try #require(pair.server.wire as? Connection)
        server.setReading(false)
        let other = try EventLoop()
        other.adopt(try #require(server.detach()))
        server.setReading(true)
        pair.client.send([1])
        pair.loop.turnAFewTimes()
        other.turn { pair.server.input == [1] }
    }

    @Test("Nothing can be moved that is not open")
    func notOpen() throws {
        let pair = try Pair()
        let server = try #require(pair.server.wire as? Connection)
        server.close(.localClose)
        #expect(server.detach() == nil)
        server.abort(.localClose)
        #expect(server.detach() == nil)
    }

    @Test("A crate that is dropped closes its socket")
    func dropped() throws {
        let pair = try Pair()
        do {
            let crate = (pair.server.wire as? Connection)?.detach()
            #expect(crate != nil)
            pair.server.wire = nil
        }
        pair.loop.turn { pair.client.inputEnds == 1 || !pair.client.reasons.isEmpty }
        #expect(pair.server.reasons.isEmpty)
    }

    @Test("A loop that has stopped cuts what it adopts")
    func stoppedLoop() throws {
        let pair = try Pair()
        let crate = try #require((pair.server.wire as? Connection)?.detach())
        let other = try EventLoop()
        other.stop()
        other.adopt(crate)
        other.run()
        #expect(pair.server.reasons == [.loopStopped])
        #expect(other.connectionCount == 0)
    }
}

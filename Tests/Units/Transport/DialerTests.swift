import Testing

@testable import Transport

@Suite("Dialing")
struct DialerTests {
    /// An address where nobody listens.
    private func deadEnd(_ loop: EventLoop) throws -> SocketAddress {
        let listener = try loop.listen(SocketAddress("127.0.0.1:0")) { _ in nil }
        defer { listener.close() }
        return listener.address
    }

    private func makeDialer(for session: Probe, on loop: EventLoop) -> Dialer {
        Dialer(for: session, on: loop) { [unowned loop] address, dialer in
            loop.connect(to: address, session: dialer)
        }
    }

    @Test("tries one address after the other, and leaves its place to the session")
    func addresses() throws {
        let loop = try EventLoop()
        let (server, client) = (Probe.echo(), Probe())
        let listener = try loop.listen(SocketAddress("127.0.0.1:0")) { _ in server }
        let dead = try deadEnd(loop)
        makeDialer(for: client, on: loop).begin([dead, dead, listener.address])
        loop.turn { client.openings == 1 }
        client.send([1, 2, 3])
        loop.turn { client.input == [1, 2, 3] }
        client.wire?.close(.localClose)
        loop.turn { client.reasons == [.localClose] && server.reasons.count == 1 }
        #expect(client.openings == 1)
    }

    @Test("tells once when no address answers, and never before it returns")
    func noAnswer() throws {
        let loop = try EventLoop()
        let client = Probe()
        let dead = try deadEnd(loop)
        makeDialer(for: client, on: loop).begin([dead, dead])
        #expect(client.reasons.isEmpty)
        loop.turn { !client.reasons.isEmpty }
        loop.turnAFewTimes()
        #expect(client.reasons == [.refused("Connection refused")])
        #expect(client.openings == 0)
    }

    @Test("says of each address why it did not answer, where the reasons differ")
    func reasons() throws {
        let loop = try EventLoop()
        let client = Probe()
        let (nowhere, dead) = (try SocketAddress("unix:/nowhere/socket"), try deadEnd(loop))
        makeDialer(for: client, on: loop).begin([nowhere, dead])
        loop.turn { !client.reasons.isEmpty }
        let reason = "unix:/nowhere/socket: No such file or directory; \(dead): Connection refused"
        #expect(client.reasons == [.refused(reason)])
    }

    @Test("can be given up, by address and by name", arguments: ["127.0.0.1:1", "nowhere.invalid:1"])
    func cancellation(_ text: String) throws {
        let loop = try EventLoop()
        let client = Probe()
        let dialing = loop.dial(try Destination(text), session: client)
        dialing.cancel()
        dialing.cancel()
        #expect(client.reasons.isEmpty)
        loop.turn { !client.reasons.isEmpty }
        loop.turnAFewTimes()
        #expect(client.reasons.count == 1 && client.openings == 0)
    }

    @Test("that was given up tries no further address")
    func givenUp() throws {
        let loop = try EventLoop()
        let client = Probe()
        let listener = try loop.listen(SocketAddress("127.0.0.1:0")) { _ in Probe() }
        let dialer = makeDialer(for: client, on: loop)
        dialer.begin([try deadEnd(loop), listener.address])
        dialer.cancel()
        loop.turn { !client.reasons.isEmpty }
        loop.turnAFewTimes()
        #expect(client.reasons.count == 1 && client.openings == 0)
        #expect(listener.acceptedCount == 0)
    }

    @Test("is over with its loop")
    func loopStopped() throws {
        let loop = try EventLoop()
        let client = Probe()
        _ = loop.dial(try Destination("nowhere.invalid:1"), session: client)
        loop.stop()
        loop.run()
        #expect(client.reasons.count == 1)
    }

    @Test("finds the addresses of a name, with the port")
    func names() throws {
        let addresses = try HostLookup.addresses(of: "localhost", port: 4711).get()
        #expect(addresses.contains { $0.description == "127.0.0.1:4711" || $0.description == "[::1]:4711" })
        #expect(throws: TransportError.self) {
            try HostLookup.addresses(of: "nowhere.invalid", port: 1).get()
        }
    }
}

@Suite("A destination")
struct DestinationTests {
    @Test(
        "is read from the form in which it is written",
        arguments: [
            ("relay.example.org:2197", "relay.example.org"), ("localhost:1", "localhost"),
            ("127.0.0.1:2197", "127.0.0.1"), ("[::1]:2197", "::1"), ("unix:/run/x.sock", nil),
        ] as [(String, String?)])
    func forms(_ text: String, _ host: String?) throws {
        let destination = try Destination(text)
        #expect(destination.description == text)
        #expect(destination.host == host)
    }

    @Test(
        "that is none gets a sentence",
        arguments: [
            "", "relay", "relay:", "relay:65536", ":1", "a b:1", "a:b:1", "::1:5", "rélais:1",
        ])
    func mistakes(_ text: String) {
        #expect(throws: TransportError.self) { try Destination(text) }
    }

    @Test(
        "are refused port 0, at which nobody can be reached",
        arguments: ["relay:0", "127.0.0.1:0", "[::1]:0"])
    func portZero(_ text: String) {
        let error = #expect(throws: TransportError.self) { try Destination(text) }
        #expect(
            error?.description
                == "\(text) has port 0, at which nobody listens: give a port from 1 to 65535.")
    }

    @Test("that names an interface which is not there is told so")
    func missingLink() {
        let error = #expect(throws: TransportError.self) { try Destination("[fe80::1%nowhere]:1") }
        #expect(error?.description.contains("no network interface nowhere") == true)
    }
}

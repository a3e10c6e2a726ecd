import Glibc
import PostriderSystem
import PostriderTLS
import Testing

@testable import PostriderTransport

@Suite("Dialing")
struct DialerTests {
    /// Returns an address where nobody listens.
    private func deadEnd(_ loop: EventLoop) throws -> SocketAddress {
        let listener = try loop.listen(SocketAddress("127.0.0.1:0")) { _ in nil }
        defer { listener.close() }
        return listener.address
    }

    private func makeDialer(
        for session: Probe, on loop: EventLoop, clock: (any Scheduler)? = nil, tls: TLSContext? = nil
    ) -> Dialer {
        Dialer(for: session, on: loop, scheduler: clock ?? loop, staggerMilliseconds: 250) {
            [unowned loop] address, attempt in
            loop.connect(to: address, tls: tls.map { ($0, "localhost") }, session: attempt)
        }
    }

    @Test("goes past an address that does not answer when the stagger is over, and drops it", .bug(id: "A11"))
    func blackHole() throws {
        let (loop, clock) = (try EventLoop(), HandClock())
        let (server, client) = (Probe.echo(), Probe())
        let listener = try loop.listen(SocketAddress("127.0.0.1:0")) { _ in server }
        let hole = try BlackHole()
        makeDialer(for: client, on: loop, clock: clock).begin([hole.address, listener.address])
        clock.advance(byMilliseconds: 249)
        loop.turnAFewTimes()
        #expect(client.openings == 0 && listener.counts.accepted == 0)
        clock.advance(byMilliseconds: 1)
        loop.turn { client.openings == 1 && server.openings == 1 }
        #expect(loop.connectionCount == 2)
        clock.advance(byMilliseconds: 60_000)
        loop.turnAFewTimes()
        #expect(listener.counts.accepted == 1 && client.reasons.isEmpty)
    }

    @Test("tries the next address where one that answers fails the handshake", .bug(id: "A11"))
    func brokenHandshake() throws {
        let (loop, clock, tls) = (try EventLoop(), HandClock(), try TestTLS())
        let (server, client) = (Probe.echo(), Probe())
        let closing = try loop.listen(SocketAddress("127.0.0.1:0")) { _ in nil }
        let listener = try loop.listen(SocketAddress("127.0.0.1:0"), tls: tls.server) { _ in server }
        makeDialer(for: client, on: loop, clock: clock, tls: tls.client)
            .begin([closing.address, listener.address])
        loop.turn { client.openings == 1 && server.openings == 1 }
        #expect(client.reasons.isEmpty)
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
        let dialing = loop.dial(try Destination(text), resolver: SystemResolver(), session: client)
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
        #expect(listener.counts.accepted == 0)
    }

    @Test("is over with its loop")
    func loopStopped() throws {
        let loop = try EventLoop()
        let client = Probe()
        _ = loop.dial(
            try Destination("nowhere.invalid:1"), resolver: SystemResolver(), session: client)
        loop.stop()
        loop.run()
        #expect(client.reasons.count == 1)
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

/// An address that answers no SYN: a loopback listener whose queue is full.
private final class BlackHole {
    let address: SocketAddress
    private let listening: Descriptor
    /// Fills the queue: a backlog of 0 holds one connection.
    private let first: Descriptor
    private let second: Descriptor

    init() throws {
        listening = try Socket.make(AF_INET)
        first = try Socket.make(AF_INET)
        second = try Socket.make(AF_INET)
        try Socket.bind(listening.number, to: SocketAddress("127.0.0.1:0"))
        #expect(listen(listening.number, 0) == 0)
        address = try #require(Socket.localAddress(listening.number))
        _ = Socket.connect(first.number, to: address)
        _ = Socket.connect(second.number, to: address)
    }
}

/// A clock that the test moves.
private final class HandClock: Scheduler {
    private final class Timer: LoopTimer {
        let fire: () -> Void
        private unowned let clock: HandClock
        var dueAt: UInt64?

        init(_ clock: HandClock, _ fire: @escaping () -> Void) {
            self.clock = clock
            self.fire = fire
        }

        func arm(afterMilliseconds milliseconds: Int) { dueAt = clock.now + UInt64(milliseconds) * 1_000_000 }
        func disarm() { dueAt = nil }
        var isArmed: Bool { dueAt != nil }
    }

    private struct Known { weak var timer: Timer? }

    private(set) var now: UInt64 = 0
    var wallMilliseconds: Int64 { 0 }
    private var known: [Known] = []

    func makeTimer(_ fire: @escaping () -> Void) -> any LoopTimer {
        let timer = Timer(self, fire)
        known.append(Known(timer: timer))
        return timer
    }

    func advance(byMilliseconds interval: Int) {
        now += UInt64(interval) * 1_000_000
        for timer in known.compactMap(\.timer) where timer.dueAt ?? .max <= now {
            timer.disarm()
            timer.fire()
        }
    }
}

import Testing

@testable import PostriderTransport

@Suite("A race between the addresses of a host")
struct ConnectionRaceTests {
    private static func addresses(_ texts: String...) throws -> [SocketAddress] {
        try texts.map { try SocketAddress($0) }
    }

    @Test(
        "takes the families in turn, beginning with the preferred one, and no address twice", .bug(id: "A11"))
    func interleaving() throws {
        let found = try Self.addresses("[::1]:1", "[::2]:1", "[::3]:1", "10.0.0.1:1", "[::1]:1", "10.0.0.2:1")
        #expect(
            ConnectionRace(found).addresses.map(\.description)
                == ["[::1]:1", "10.0.0.1:1", "[::2]:1", "10.0.0.2:1", "[::3]:1"])
        let one = try Self.addresses("10.0.0.1:1", "10.0.0.2:1")
        #expect(ConnectionRace(one).addresses == one)
        let four = try Self.addresses("10.0.0.1:1", "10.0.0.2:1", "[::1]:1")
        #expect(ConnectionRace(four).addresses.map(\.description) == ["10.0.0.1:1", "[::1]:1", "10.0.0.2:1"])
    }

    private func race() throws -> ConnectionRace {
        ConnectionRace(try Self.addresses("10.0.0.1:1", "10.0.0.2:1", "10.0.0.3:1"))
    }

    @Test("begins one more attempt each time the stagger is over, beside those that wait", .bug(id: "A11"))
    func stagger() throws {
        var race = try race()
        #expect([race.next(), race.next()] == [.attempt(0), .attempt(1)])
        #expect(race.isStaggering)
        #expect(race.next() == .attempt(2))
        #expect(!race.isStaggering)
        #expect(race.next() == .wait)
    }

    @Test("begins the next attempt at once where one fails, and is over with the last", .bug(id: "A11"))
    func failures() throws {
        var race = try race()
        _ = race.next()
        #expect(race.failed(0, .refused("no route")) == .attempt(1))
        #expect(race.next() == .attempt(2))
        #expect(race.failed(1, .refused("no route")) == .wait)
        #expect(
            race.failed(2, .connectTimeout)
                == .over(
                    .refused("10.0.0.1:1: no route; 10.0.0.2:1: no route; 10.0.0.3:1: no connection in time"))
        )
    }

    @Test(
        "drops the others when one is connected, and comes back to them if its handshake fails",
        .bug(id: "A11"))
    func handshake() throws {
        var race = try race()
        #expect([race.next(), race.next()] == [.attempt(0), .attempt(1)])
        #expect(race.connected(1) == [0])
        #expect(!race.isStaggering && race.next() == .wait)
        #expect(race.failed(1, .handshakeTimeout) == .attempt(2))
        #expect(race.failed(2, .handshakeTimeout) == .attempt(0))
        #expect(
            race.failed(0, .connectTimeout)
                == .over(
                    .refused(
                        "10.0.0.1:1: no connection in time; 10.0.0.2:1: no TLS handshake in time; "
                            + "10.0.0.3:1: no TLS handshake in time")))
    }
}

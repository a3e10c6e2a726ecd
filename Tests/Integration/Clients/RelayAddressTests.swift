import PostriderClients
import PostriderCourier
import PostriderNotifications
import Testing

@testable import PostriderTransport

@Suite("A device client with two addresses of its relay")
struct RelayAddressTests {
    private let fixture: DeviceFixture
    private let other: FakeRelay
    private var first: FakeRelay { fixture.relay }

    init() throws {
        fixture = try DeviceFixture()
        other = try FakeRelay(on: fixture.loop)
    }

    private func makeClient(welcomeMilliseconds: Int = 15_000) throws -> DeviceClient {
        let relays = try other.configuration().relays
        return try fixture.makeClient {
            $0.relays += relays
            $0.welcomeMilliseconds = welcomeMilliseconds
        }
    }

    private func place(of relay: FakeRelay) throws -> String { try relay.server.place.place }

    @Test("uses the second one when the first refuses, also after a link was up")
    func refused() throws {
        other.welcomeAll()
        first.server.stopListening()
        let client = try makeClient()
        client.start()
        fixture.loop.turn { client.isConnected }
        #expect(try client.relay.place == place(of: other))
        #expect(fixture.recorder.log == ["will connect", "did disconnect", "will connect", "did connect"])
        other.links[0].end(.unavailable)
        fixture.loop.turn { other.links.count == 2 }
        fixture.loop.turn { client.isConnected }
        #expect(try first.links.isEmpty && client.relay.place == place(of: other))
    }

    @Test("uses the second one when the first takes the connection and never answers")
    func silent() throws {
        other.welcomeAll()
        let client = try makeClient(welcomeMilliseconds: 50)
        client.start()
        fixture.loop.turn { client.isConnected }
        #expect(try client.relay.place == place(of: other) && !first.links.isEmpty)
    }

    @Test("keeps its identity if one of them does not know it, and ends if none does")
    func identity() throws {
        first.onMessage = { link, _ in link.end(.unauthenticated) }
        other.welcomeAll()
        let client = try makeClient()
        client.start()
        fixture.loop.turn { client.isConnected }
        #expect(try client.relay.place == place(of: other))
        #expect(fixture.recorder.ends.map(\.end.isUnknownDevice) == [true])
        other.onMessage = { link, _ in link.end(.unauthenticated) }
        // The operator has removed the device.
        other.links[0].goodbye(.removed)
        fixture.loop.turn { fixture.recorder.ends.count == 2 }
        #expect(fixture.recorder.ends[1].nextAttemptMilliseconds != nil)
    }
}

extension FakeRelay {
    /// Welcomes every device.
    fileprivate func welcomeAll() {
        onMessage = { link, message in if case .hello = message { link.welcome() } }
    }
}

import PostriderClients
import PostriderCourier
import PostriderCrypto
import PostriderNotifications
import PostriderRelay
import Testing

@testable import PostriderTransport

@Suite("What the operator takes back is over at once, on connections that live")
struct RevocationTests {
    @Test("A device that is removed is told so and cut off, and is unknown when it returns")
    func device() async throws {
        let fixture = try await RelayFixture()
        let configuration = try fixture.deviceConfiguration()
        let (recorder, later) = (Recorder(), Recorder())
        let client = DeviceClient(configuration, on: fixture.loop, random: { 0 }, delegate: recorder)
        client.start()
        fixture.loop.turn { client.isConnected }
        #expect(try fixture.delete("/v1/devices/\(configuration.identity)") == 200)
        fixture.loop.turn { recorder.ends.count == 1 }
        guard case .goodbye(let goodbye) = try #require(recorder.ends.first).end else {
            Issue.record("\(recorder.ends)")
            return
        }
        #expect(goodbye.reason == .removed)
        #expect(!client.isConnected)
        let again = DeviceClient(configuration, on: fixture.loop, random: { 0 }, delegate: later)
        again.start()
        fixture.loop.turn { later.ends.count == 1 }
        #expect(later.ends[0].end.isUnknownDevice && later.welcomes.isEmpty)
        await fixture.stop()
    }

    @Test("A provider's key that is removed is good for no push more on the connection that used it")
    func providerKey() async throws {
        let fixture = try await RelayFixture(shards: 1)
        let recorder = Recorder()
        let client = DeviceClient(
            try fixture.deviceConfiguration(), topics: [RelayFixture.topic: .production], on: fixture.loop,
            random: { 0 },
            delegate: recorder)
        client.start()
        fixture.loop.turn { recorder.tokens[RelayFixture.topic] != nil }
        let token = try #require(recorder.tokens[RelayFixture.topic])
        let push = Push(to: token.hex, topic: Topic(RelayFixture.topic), payload: Array("{}".utf8))
        let provider = try fixture.makeProvider()
        #expect(try fixture.push(push, provider).isAccepted)
        #expect(try fixture.delete("/v1/keys/KEY1") == 200)
        #expect(try fixture.push(push, provider).reason == "InvalidProviderToken")
        await fixture.stop()
    }
}

extension RelayFixture {
    /// Sends a DELETE to the control socket and returns the status.
    fileprivate func delete(_ path: String) throws -> Int {
        var status: Int?
        let client = RequestClient(to: try control, on: loop)
        try client.send(client.makeHead("DELETE", path)) { status = (try? $0.get().status) ?? 0 }
        loop.turn { status != nil }
        return try #require(status)
    }
}

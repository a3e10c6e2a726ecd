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
        let rig = try await RelayRig()
        let configuration = try rig.deviceConfiguration()
        let (recorder, later) = (Recorder(), Recorder())
        let client = DeviceClient(configuration, on: rig.loop, random: { 0 }, delegate: recorder)
        client.start()
        rig.loop.turn { client.isConnected }
        #expect(try rig.delete("/v1/devices/\(configuration.identity)") == 200)
        rig.loop.turn { recorder.ends.count == 1 }
        guard case .goodbye(let goodbye) = try #require(recorder.ends.first).end else {
            Issue.record("\(recorder.ends)")
            return
        }
        #expect(goodbye.reason == .removed)
        #expect(!client.isConnected)
        let again = DeviceClient(configuration, on: rig.loop, random: { 0 }, delegate: later)
        again.start()
        rig.loop.turn { later.ends.count == 1 }
        #expect(later.ends[0].end.isUnknownDevice && later.welcomes.isEmpty)
        await rig.stop()
    }

    @Test("A provider's key that is removed is good for no push more on the connection that used it")
    func providerKey() async throws {
        let rig = try await RelayRig(shards: 1)
        let recorder = Recorder()
        let client = DeviceClient(
            try rig.deviceConfiguration(), topics: [RelayRig.topic: .production], on: rig.loop, random: { 0 },
            delegate: recorder)
        client.start()
        rig.loop.turn { recorder.tokens[RelayRig.topic] != nil }
        let token = try #require(recorder.tokens[RelayRig.topic])
        let push = Push(to: token.hex, topic: Topic(RelayRig.topic), payload: Array("{}".utf8))
        let provider = try rig.makeProvider()
        #expect(try rig.push(push, provider).isAccepted)
        #expect(try rig.delete("/v1/keys/KEY1") == 200)
        #expect(try rig.push(push, provider).reason == "InvalidProviderToken")
        await rig.stop()
    }
}

extension RelayRig {
    /// Sends a DELETE to the control socket and returns the status.
    fileprivate func delete(_ path: String) throws -> Int {
        var status: Int?
        let client = RequestClient(to: try control, on: loop)
        try client.send(client.makeHead("DELETE", path)) { status = (try? $0.get().status) ?? 0 }
        loop.turn { status != nil }
        return try #require(status)
    }
}

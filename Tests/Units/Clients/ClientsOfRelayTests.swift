import Clients
import Courier
import Notifications
import Relay
import Testing

@testable import Transport

@Suite("Clients of a real relay")
struct ClientsOfRelayTests {
    @Test("enrol, connect and get a device token")
    func registration() async throws {
        let rig = try await RelayRig()
        let recorder = Recorder()
        let client = DeviceClient(
            try rig.deviceConfiguration(), topics: [RelayRig.topic], on: rig.loop,
            random: { 0 }, delegate: recorder)
        client.start()
        rig.loop.turn { recorder.tokens[RelayRig.topic] != nil }
        #expect(client.isConnected)
        var isStopped = false
        client.stop { isStopped = true }
        rig.loop.turn { isStopped }
        #expect(recorder.log == ["will connect", "did connect", "did disconnect"])
        #expect(recorder.ends.last?.nextAttemptMilliseconds == nil)
        await rig.relay.stop()
    }

    @Test("are told why an enrolment is refused")
    func refusedEnrolment() async throws {
        let rig = try await RelayRig(shards: 1)
        guard case .failure(.refused(.unauthenticated, _)) = try rig.enrol(key: "enrol-wrong") else {
            Issue.record("a wrong key was not refused")
            return
        }
        await rig.relay.stop()
    }

    @Test("ask the control socket")
    func control() async throws {
        let rig = try await RelayRig(shards: 1)
        var response: RequestClient.Response?
        let client = RequestClient(to: try rig.control, on: rig.loop)
        try client.send(client.makeHead("GET", "/v1/status")) { response = try? $0.get() }
        rig.loop.turn { response != nil }
        #expect(response?.status == 200)
        #expect(response.map { String(decoding: $0.body, as: UTF8.self).contains("\"shards\":1") } == true)
        await rig.relay.stop()
    }
}

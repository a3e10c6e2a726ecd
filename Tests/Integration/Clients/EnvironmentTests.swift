import Foundation
import PostriderClients
import PostriderCourier
import PostriderNotifications
import Testing

@testable import PostriderTransport

@Suite("The two environments of a relay", .serialized)
struct EnvironmentTests {
    private static let payload = Array("{}".utf8)

    /// Returns the status of a push to this token in one environment.
    private func meets(
        _ token: DeviceToken, in environment: PostriderNotifications.Environment, _ rig: RelayRig
    ) throws -> String {
        let push = Push(to: token.hex, topic: Topic(RelayRig.topic), payload: Self.payload)
        let outcome = try rig.push(push, rig.makeProvider(in: environment))
        return [String(outcome.status), outcome.reason].compactMap { $0 }.joined(separator: " ")
    }

    @Test("refuse each other's tokens")
    func apart() async throws {
        let rig = try await RelayRig()
        for environment in PostriderNotifications.Environment.allCases {
            let recorder = Recorder()
            let client = DeviceClient(
                try rig.deviceConfiguration(), topics: [RelayRig.topic: environment], on: rig.loop,
                random: { 0 }, delegate: recorder)
            client.start()
            rig.loop.turn { recorder.tokens[RelayRig.topic] != nil }
            let token = try #require(recorder.tokens[RelayRig.topic])
            let isProduction = environment == .production
            #expect(try meets(token, in: .production, rig) == (isProduction ? "200" : "400 BadDeviceToken"))
            #expect(try meets(token, in: .development, rig) == (isProduction ? "400 BadDeviceToken" : "200"))
            rig.loop.turn { !recorder.delivered.isEmpty }
            client.stop()
        }
        await rig.stop()
    }

    @Test("have an app on a device one at a time: with the other one, its token is dead and it has a new one")
    func changingOver() async throws {
        let rig = try await RelayRig()
        let recorder = Recorder()
        let configuration = try rig.deviceConfiguration()
        let client = DeviceClient(
            configuration, topics: [RelayRig.topic: .production], on: rig.loop, random: { 0 },
            delegate: recorder)
        client.start()
        rig.loop.turn { recorder.tokens[RelayRig.topic] != nil }
        let former = try #require(recorder.tokens[RelayRig.topic])
        client.send(.register(topic: RelayRig.topic, environment: .development))
        rig.loop.turn { recorder.tokens[RelayRig.topic] != former }
        let token = try #require(recorder.tokens[RelayRig.topic])
        #expect(try meets(former, in: .production, rig) == "410 Unregistered")
        #expect(try meets(former, in: .development, rig) == "400 BadDeviceToken")
        #expect(try meets(token, in: .development, rig) == "200")
        var isStopped = false
        client.stop { isStopped = true }
        rig.loop.turn { isStopped }

        // A device that comes back keeps its registration, and changes it after the welcome if its environment is
        // another one.
        let later = Recorder()
        let returned = DeviceClient(
            configuration, topics: [RelayRig.topic: .production], on: rig.loop, random: { 0 },
            delegate: later)
        returned.start()
        rig.loop.turn { later.tokens[RelayRig.topic].map { $0 != token } ?? false }
        #expect(later.welcomes.first?.registrations.map(\.environment) == [.development])
        let third = try #require(later.tokens[RelayRig.topic])
        #expect(third != former)
        #expect(try meets(token, in: .development, rig) == "410 Unregistered")
        #expect(try meets(third, in: .production, rig) == "200")
        returned.stop()
        await rig.stop()
    }
}

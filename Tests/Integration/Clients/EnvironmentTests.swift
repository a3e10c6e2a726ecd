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
        _ token: DeviceToken, in environment: PostriderNotifications.Environment, _ fixture: RelayFixture
    ) throws -> String {
        let push = Push(to: token.hex, topic: Topic(RelayFixture.topic), payload: Self.payload)
        let outcome = try fixture.push(push, fixture.makeProvider(in: environment))
        return [String(outcome.status), outcome.reason].compactMap { $0 }.joined(separator: " ")
    }

    @Test("refuse each other's tokens")
    func apart() async throws {
        let fixture = try await RelayFixture()
        for environment in PostriderNotifications.Environment.allCases {
            let recorder = Recorder()
            let client = DeviceClient(
                try fixture.deviceConfiguration(), topics: [RelayFixture.topic: environment],
                on: fixture.loop,
                random: { 0 }, delegate: recorder)
            client.start()
            fixture.loop.turn { recorder.tokens[RelayFixture.topic] != nil }
            let token = try #require(recorder.tokens[RelayFixture.topic])
            let isProduction = environment == .production
            #expect(
                try meets(token, in: .production, fixture) == (isProduction ? "200" : "400 BadDeviceToken"))
            #expect(
                try meets(token, in: .development, fixture) == (isProduction ? "400 BadDeviceToken" : "200"))
            fixture.loop.turn { !recorder.delivered.isEmpty }
            client.stop()
        }
        await fixture.stop()
    }

    @Test("have an app on a device one at a time: with the other one, its token is dead and it has a new one")
    func changingOver() async throws {
        let fixture = try await RelayFixture()
        let recorder = Recorder()
        let configuration = try fixture.deviceConfiguration()
        let client = DeviceClient(
            configuration, topics: [RelayFixture.topic: .production], on: fixture.loop, random: { 0 },
            delegate: recorder)
        client.start()
        fixture.loop.turn { recorder.tokens[RelayFixture.topic] != nil }
        let former = try #require(recorder.tokens[RelayFixture.topic])
        client.send(.register(topic: RelayFixture.topic, environment: .development))
        fixture.loop.turn { recorder.tokens[RelayFixture.topic] != former }
        let token = try #require(recorder.tokens[RelayFixture.topic])
        #expect(try meets(former, in: .production, fixture) == "410 Unregistered")
        #expect(try meets(former, in: .development, fixture) == "400 BadDeviceToken")
        #expect(try meets(token, in: .development, fixture) == "200")
        var isStopped = false
        client.stop { isStopped = true }
        fixture.loop.turn { isStopped }

        // A device that comes back keeps its registration, and changes it after the welcome if its environment is
        // another one.
        let later = Recorder()
        let returned = DeviceClient(
            configuration, topics: [RelayFixture.topic: .production], on: fixture.loop, random: { 0 },
            delegate: later)
        returned.start()
        fixture.loop.turn { later.tokens[RelayFixture.topic].map { $0 != token } ?? false }
        #expect(later.welcomes.first?.registrations.map(\.environment) == [.development])
        let third = try #require(later.tokens[RelayFixture.topic])
        #expect(third != former)
        #expect(try meets(token, in: .development, fixture) == "410 Unregistered")
        #expect(try meets(third, in: .production, fixture) == "200")
        returned.stop()
        await fixture.stop()
    }
}

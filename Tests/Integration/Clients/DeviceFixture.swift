import PostriderClients
import PostriderCourier
import PostriderNotifications

@testable import PostriderTransport

/// A relay that the test controls, and a record of the events of its client.
struct DeviceFixture {
    let loop: EventLoop
    let relay: FakeRelay
    let recorder = Recorder()

    init() throws {
        loop = try EventLoop()
        relay = try FakeRelay(on: loop)
    }

    /// Makes a client whose jitter has its largest value.
    func makeClient(
        topics: [String: PostriderNotifications.Environment] = [:], baseMilliseconds: Int = 1,
        _ adjust: (inout DeviceClient.Configuration) -> Void = { _ in }
    ) throws -> DeviceClient {
        var configuration = try relay.configuration()
        adjust(&configuration)
        return DeviceClient(
            configuration, topics: topics, on: loop,
            backoff: Backoff(
                baseMilliseconds: baseMilliseconds, capMilliseconds: max(8, baseMilliseconds),
                stableMilliseconds: 600_000),
            random: { .max }, delegate: recorder)
    }

    /// Welcomes every device.
    func welcomeAll(_ registrations: [Registered] = [], keepaliveSeconds: UInt32 = 60) {
        relay.onMessage = { link, message in
            if case .hello = message {
                link.welcome(registrations, keepaliveSeconds: keepaliveSeconds)
            }
        }
    }
}

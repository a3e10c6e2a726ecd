import PostriderNotifications
import PostriderRelay
import Testing

@testable import PostriderCommands
@testable import postrider

@Suite("The list of channels on the control socket")
struct ChannelListTests {
    private static let topic = topic("com.example.matches")

    private static func topic(_ text: String) -> Topic {
        guard let topic = Topic(text) else { preconditionFailure("\(text) is a topic") }
        return topic
    }

    private static func record(_ number: UInt64, of topic: Topic, _ environment: Environment) -> ChannelRecord
    {
        ChannelRecord(
            identity: ChannelIdentity(high: 1, low: number),
            owner: ChannelOwner(topic: topic, environment: environment),
            storage: number % 2 == 0 ? .mostRecent : .nothing,
            createdAt: Moment(milliseconds: Int64(5000 - number)))
    }

    /// Two apps may have channels: one has `count`, the other a single one.
    private static func registry(_ count: UInt64) -> [RegistryChange] {
        let other = topic("com.example.other")
        let topics = [topic, other].map {
            RegistryChange.putTopic(TopicRecord(topic: $0, team: "TEAM", takesBroadcasts: true))
        }
        return topics + (1...count).map { .putChannel(record($0, of: topic, .production)) }
            + [.putChannel(record(4001, of: other, .development))]
    }

    @Test("has those of all homes or of one app, the oldest first, with what is stored")
    func list() async throws {
        let stored = Broadcast(
            identity: NotificationIdentity(high: 3, low: 4), channel: ChannelIdentity(high: 1, low: 2),
            topic: Self.topic, payload: Array("{}".utf8), priority: .immediate,
            expiration: .at(Moment(milliseconds: .max)), pushType: .liveactivity,
            acceptedAt: Moment(milliseconds: 9000))
        try await ControlTests.withRelay(holding: Self.registry(3) + [.putBroadcast(stored)]) { client, _ in
            let all = try await client.list("/v1/channels", of: Control.ChannelList.self).item
            #expect(all.count == 4)
            #expect(all.channels.map(\.createdAt) == [999, 4997, 4998, 4999])
            #expect(
                all.channels.map(\.environment) == [.development] + Array(repeating: .production, count: 3))
            let some = try await client.list(
                "/v1/channels?topic=\(Self.topic.text)", of: Control.ChannelList.self
            ).item
            #expect(some.count == 3)
            #expect(some.channels.map(\.storesLatest) == [false, true, false])
            #expect(some.channels.map(\.stored) == [nil, stored.identity.description, nil])
            #expect(some.channels.map(\.storedAt) == [nil, 9000, nil])
            #expect(some.channels.allSatisfy { $0.topic == Self.topic.text && $0.subscribers == 0 })
            let none = try await client.list(
                "/v1/channels?topic=com.example.none", of: Control.ChannelList.self
            ).item
            #expect(none.count == 0 && none.channels.isEmpty)
        }
    }

    @Test("counts all of them, and describes a thousand")
    func bound() async throws {
        try await ControlTests.withRelay(holding: Self.registry(1500)) { client, _ in
            let all = try await client.list("/v1/channels", of: Control.ChannelList.self).item
            #expect(all.count == 1501 && all.channels.count == Limits.listedChannels)
            #expect(all.channels[0].createdAt == 999 && all.channels[1].createdAt == 3500)
        }
    }

    @Test(
        "refuses other questions",
        arguments: ["topic=", "topic=a%20b", "of=x", "topic=a.b&topic=c.d", "topic"])
    func refusals(_ query: String) async throws {
        try await ControlTests.withRelay { client, _ in
            await #expect(throws: CommandFailure.self) {
                _ = try await client.request("GET", "/v1/channels?\(query)")
            }
        }
    }
}

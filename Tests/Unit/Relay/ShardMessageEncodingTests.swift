import PostriderCourier
import PostriderNotifications
import RelayFixtures
import Testing

@testable import PostriderChannels
@testable import PostriderRelay

@Suite("The encoding of messages between shards")
struct ShardMessageEncodingTests {
    private static let channel = ChannelIdentity(high: 1, low: 2)
    private static let address = ReplyAddress(shard: 3, stream: .max, connection: .max)
    private static let owner = ChannelOwner(topic: Samples.topic, environment: .development)

    private static func broadcast(
        _ expiration: Expiration = .nowOrNever, payload: [UInt8] = Array("{}".utf8)
    ) -> Broadcast {
        Broadcast(
            identity: NotificationIdentity(high: 1, low: 2), channel: channel, topic: Samples.topic,
            payload: payload, priority: .considerate, expiration: expiration, pushType: .liveactivity,
            acceptedAt: Samples.now, traceContext: expiration == .nowOrNever ? nil : context)
    }

    private static let context = TraceContext(
        parent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", state: "a=1,b=2")

    private static let plain = Samples.notification(1, expiration: .nowOrNever)
    private static let full = Notification(
        identity: NotificationIdentity(high: .max, low: 0), device: Samples.device,
        registration: RegistrationNumber(2, in: .development), topic: Samples.otherTopic, pushType: nil,
        priority: .low, expiration: .at(Moment(milliseconds: 0)), collapseIdentifier: "",
        payload: [UInt8](repeating: 0x20, count: Limits.voipPayloadBytes), acceptedAt: Samples.now,
        uniqueIdentity: NotificationIdentity(high: 3, low: 4), proof: .key("KEY0000001"),
        callback: "https://example.com/x",
        traceContext: context)
    private static let wish = Subscribe(
        topic: Samples.topic.text, channel: channel, last: NotificationIdentity(high: 5, low: 6),
        lastAcceptedAt: Samples.now)
    private static let request = SubscriptionRequest(
        channel: channel, owner: owner, wish: wish, shard: 1, connection: 2, ticket: 3)

    private static let answers: [ChannelAnswer] = [
        .created(channel), .settings(.nothing), .settings(.mostRecent), .removed, .list([]),
        .list([channel, ChannelIdentity(high: 3, low: 4)]), .accepted, .rejected(.channelNotRegistered),
    ]
    private static let orders: [ChannelCommand] = [
        .create(.nothing), .create(.mostRecent), .read(channel), .remove(channel), .list,
        .broadcast(broadcast(), isNowOrNever: true, by: .key("")),
        .broadcast(broadcast(.at(Samples.now)), isNowOrNever: false, by: .certificate),
    ]
    /// Each kind of message that leaves a process, with each of its cases.
    static let messages: [ShardMessage] =
        [
            .push(.deliver(plain, address)), .push(.deliver(full, Samples.replyAddress(1))),
            .push(.answer(address, .accepted)), .push(.answer(address, .rejected(.badDeviceToken))),
            .push(.answer(address, .rejected(.unregistered, since: Moment(milliseconds: 0)))),
            .channel(.subscribe(request)),
            .channel(.subscribed(request, isKnown: false, nil, QueueRow(0))),
            .channel(.subscribed(request, isKnown: true, broadcast(.at(Samples.now)), QueueRow(7))),
            .channel(
                .broadcast(
                    broadcast(payload: [UInt8](repeating: 0x20, count: Limits.broadcastPayloadBytes)),
                    QueueRow(.max))),
            .channel(.removed(channel)),
        ] + WebSamples.messages.map { .web($0) } + answers.map { .channel(.answer(address, $0)) }
        + orders.map { .channel(.order($0, owner, address)) } + EdgeSamples.messages.map { .edge($0) }
        + NodeQuerySamples.messages.map { .nodeQuery($0) }
        + HandoverSamples.messages.map { .handover($0) }

    /// All properties of a message, with those of its objects.
    private func described(_ message: ShardMessage) -> String {
        var text = ""
        dump(message, to: &text)
        return text
    }

    private func error(_ bytes: [UInt8]) -> CourierError? {
        do throws(CourierError) {
            _ = try ShardMessage(decoding: bytes.span)
            return nil
        } catch {
            return error
        }
    }

    @Test("decodes to the same message", arguments: messages.indices)
    func roundTrip(_ index: Int) throws {
        let message = Self.messages[index]
        let bytes = try #require(try message.encoded())
        let again = try ShardMessage(decoding: bytes.span)
        #expect(described(again) == described(message))
        #expect(try again.encoded() == bytes)
    }

    @Test("has none of the messages that stay within a process")
    func local() throws {
        let messages: [ShardMessage] = [
            .push(.stored([StoredRow(device: Samples.device, row: QueueRow(1))], failure: nil)),
            .push(.loaded(Samples.device, asked: [], .success([]))),
            .device(.enrolled(Self.address, Samples.device, nil)),
            .web(.arrived(connection: 1)), .edge(.linkEnded(link: 1)),
            .nodeQuery(.unsent(Self.address)),
            .registry(.policyChanged(generation: 1)),
            .control(.measure(number: 1)), .lifecycle(.drain),
        ]
        for message in messages { #expect(try message.encoded() == nil) }
    }

    @Test("is refused when it is cut anywhere", arguments: messages.indices)
    func truncated(_ index: Int) throws {
        let bytes = try #require(try Self.messages[index].encoded())
        #expect(
            error([]) == .missingChoice(of: "ShardMessage", fields: "the messages that this version knows"))
        for count in 1..<min(bytes.count, 600) { #expect(error(Array(bytes[..<count])) == .truncated) }
    }

    @Test("gives an error or another message when a byte is changed", arguments: messages.indices)
    func changed(_ index: Int) throws {
        let bytes = try #require(try Self.messages[index].encoded())
        for place in 0..<min(bytes.count, 600) {
            for change: UInt8 in [0x01, 0x02, 0x05, 0x08, 0x40, 0x80, 0xFF] {
                var hostile = bytes
                hostile[place] ^= change
                guard let message = try? ShardMessage(decoding: hostile.span) else { continue }
                let written = try #require(try message.encoded())
                #expect(try ShardMessage(decoding: written.span).encoded() == written)
            }
        }
    }

    @Test("is refused with fields of the wrong wire type")
    func wireTypes() {
        #expect(error([0x08, 0x01]) == .wrongWireType(field: 1))
        #expect(error([0x45, 0, 0, 0, 0]) == .wrongWireType(field: 8))
        #expect(error([0x0A, 0x02, 0x08, 0x01]) == .wrongWireType(field: 1))
        #expect(error([0x0A, 0x04, 0x12, 0x02, 0x08, 0x01]) == .wrongWireType(field: 1))
        #expect(error([0x42, 0x02, 0x08, 0x01]) == .wrongWireType(field: 1))
        #expect(error([0x0B]) == .group(field: 1))
        #expect(error([0x0F]) == .invalidTag)
    }

    @Test("ignores unknown fields, and refuses an unknown kind of message")
    func unknownFields() throws {
        let channel = [0x0A, 16] + Self.channel.bytes
        let removed = [0x42, UInt8(channel.count + 3)] + channel + [0x98, 0x06, 0x01]
        let message = try ShardMessage(decoding: ([0x78, 0x01] + removed).span)
        #expect(described(message) == described(.channel(.removed(Self.channel))))
        #expect(error([0x7A, 0x00]) != nil)
    }

    @Test("is refused with values that are not in their definition")
    func unknownValues() throws {
        #expect(error([0x12, 0x05, 0x0A, 0x00, 0x12, 0x01, 0x58]) == .unknownValue(field: 2))
        #expect(error([0x1A, 0x04, 0x0A, 0x00, 0x18, 0x02]) == .unknownValue(field: 3))
        #expect(error([0x1A, 0x04, 0x0A, 0x00, 0x20, 0x02]) == .unknownValue(field: 4))
        #expect(error([0x1A, 0x05, 0x0A, 0x00, 0x12, 0x01, 0x20]) == .unknownValue(field: 2))
        #expect(error([0x0A, 0x04, 0x12, 0x02, 0x30, 0x07]) == .unknownValue(field: 6))
        // A shard and a stream have 31 bits.
        #expect(
            error([0x12, 0x08, 0x0A, 0x06, 0x08, 0x80, 0x80, 0x80, 0x80, 0x08]) == .unknownValue(field: 1))
        #expect(error([0x42, 0x03, 0x0A, 0x01, 0x00]) == .wrongLength(field: 1, expected: 16))
    }

    @Test("is refused above its limits")
    func limits() throws {
        let limit = Limits.shardMessageBytes
        #expect(
            error([UInt8](repeating: 0, count: limit + 1))
                == .messageTooLarge(bytes: limit + 1, limit: limit))
        let long = ShardMessage.channel(
            .answer(Self.address, .list([ChannelIdentity](repeating: Self.channel, count: limit / 16))))
        #expect(throws: CourierError.self) { try long.encoded() }
        let payload = [UInt8](repeating: 0x20, count: Limits.broadcastPayloadBytes + 1)
        let large = ShardMessage.channel(.broadcast(Self.broadcast(payload: payload), QueueRow(1)))
        let bytes = try #require(try large.encoded())
        #expect(error(bytes) == .textTooLong(field: 4, limit: Limits.broadcastPayloadBytes))
    }

    @Test("has room for a list of as many channels as an app may have")
    func longestList() throws {
        let channels = (0..<UInt64(Limits.channelsPerApp)).map { ChannelIdentity(high: $0, low: .max) }
        let message = ShardMessage.channel(.answer(Self.address, .list(channels)))
        let bytes = try #require(try message.encoded())
        #expect(bytes.count <= Limits.shardMessageBytes)
        guard case .channel(.answer(_, .list(let list))) = try ShardMessage(decoding: bytes.span) else {
            Issue.record("another message")
            return
        }
        #expect(list == channels)
    }
}

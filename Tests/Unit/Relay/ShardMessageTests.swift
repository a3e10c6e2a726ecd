import PostriderCluster
import PostriderCourier
import PostriderNotifications
import PostriderProviderAPI
import PostriderStorage
import PostriderWebPush
import RelayFixtures
import Testing

@testable import PostriderChannels
@testable import PostriderRelay

/// One day a message between shards may go to another process, therefore everything in it must be a plain value.
@Suite("A message between shards")
struct ShardMessageTests {
    private static let notification = Samples.notification(1, collapse: "c")
    private static let broadcast = Broadcast(
        identity: NotificationIdentity(high: 1, low: 2), channel: DeviceFixture.channel, topic: Samples.topic,
        payload: Array("{}".utf8), priority: .immediate, expiration: .at(Samples.now),
        pushType: .liveactivity,
        acceptedAt: Samples.now)
    private static let request = SubscriptionRequest(
        channel: DeviceFixture.channel, owner: ChannelOwner(topic: Samples.topic, environment: .development),
        wish: Subscribe(
            topic: Samples.topic.text, channel: DeviceFixture.channel, last: broadcast.identity,
            lastAcceptedAt: Samples.now),
        shard: 1, connection: 2, ticket: 3)
    private static let failure = StoreError(.full, "No room.")

    private static let pushes: [PushMessage] = [
        .deliver(notification, Samples.replyAddress(1)),
        .answer(Samples.replyAddress(1), .rejected(.unregistered, since: Samples.now)),
        .stored([StoredRow(device: Samples.device, row: QueueRow(1))], failure: .serviceUnavailable),
        .loaded(
            Samples.device, asked: [QueueRow(1)],
            .success([QueuedNotification(row: QueueRow(1), notification: notification)])),
        .loaded(Samples.device, asked: [QueueRow(1)], .failure(failure)),
    ]

    private static let devices: [DeviceLifecycleMessage] = [
        .enrol(Samples.record, [DeviceTag("a")].compactMap { $0 }, key: [1], Samples.replyAddress(1)),
        .enrolled(Samples.replyAddress(1), Samples.device, .notDurable),
        .arrived(
            Hello(
                deviceIdentity: Samples.device, deviceSecret: DeviceFixture.secret, keepaliveSeconds: 60,
                agent: "test/1",
                reception: Reception(savesPower: true, opportunistic: ["a.b"], ignored: ["c.d"])),
            connection: 7),
    ]

    private static let orders: [ChannelCommand] = [
        .create(.mostRecent), .read(DeviceFixture.channel), .remove(DeviceFixture.channel), .list,
        .broadcast(broadcast, isNowOrNever: false, by: .key("KEY")),
    ]
    private static let answers: [ChannelAnswer] = [
        .created(DeviceFixture.channel), .settings(.nothing), .removed, .list([DeviceFixture.channel]),
        .accepted,
        .rejected(.badTopic),
    ]
    private static let channels: [ChannelMessage] =
        orders.map { .order($0, request.owner, Samples.replyAddress(1)) }
        + answers.map { .answer(Samples.replyAddress(1), $0) }
        + [
            .subscribe(request), .subscribed(request, isKnown: true, broadcast, QueueRow(7)),
            .broadcast(broadcast, QueueRow(1)), .removed(DeviceFixture.channel),
        ]

    private static let report = DeviceReport(
        record: Samples.record,
        presence: DevicePresence(
            isConnected: true, since: Samples.now, address: "::1", agent: "a/1", ending: .cut),
        savesPower: true, batteryPercent: 40, pending: 1,
        duplicate: CloneWatch.Duplicate(addresses: ["a", "b"], at: Samples.now),
        registrations: [
            .init(
                topic: Samples.topic, token: DeviceToken(words: SIMD4(1, 2, 3, 4)), environment: .production)
        ])
    private static let measured: ShardReport = {
        var (report, counter) = (ShardReport(), TopicCounter(TopicLabels()))
        counter.count(Samples.topic)
        report.measures.topics = counter.counts
        report.measures.ends = [.device: [.peerReset: 1]]
        report.measures.count(.rejected(.badTopic), nanoseconds: 1)
        return report
    }()
    private static let replies: [ShardReply] = [
        .tally(measured), .devices([report]), .removed(true),
    ]
    private static let questions: [ShardQuestion] = [
        .tally, .devices(DeviceFilter(only: [Samples.device], topic: Samples.topic)), .remove(Samples.device),
    ]
    private static let trace = Control.Trace(
        pushes: [
            Control.TracedPush(
                TraceAcceptance(
                    QueuedNotification(row: QueueRow(1), notification: notification), at: Samples.now))
        ], starts: [1], refusals: [], lost: 2, untoldRefusals: 3, sample: 4)
    private static let feed = Control.TraceFeed(
        [.event(TraceEvent(.stored, at: Samples.now, row: QueueRow(1)))],
        TracePosition(segment: 1, offset: 2), lost: 3)
    private static let progress = TraceWaits.Wait(
        for: notification.identity, .done, ticket: 1, asker: 0, deadline: 2
    ).pushState
    private static let controls: [ControlMessage] =
        questions.map { .question($0, id: 1, asker: 0) } + replies.map { .reply($0, id: 1) }
        + [TraceAnswer.pushes(trace), .feed(feed), .progress(progress), .failed("No.")]
        .map { .traced(ticket: 1, $0) } + [
            .measure(number: 1), .capturesChanged,
            .enrolled(Samples.record, [DeviceTag("a")].compactMap { $0 }),
            .devices([
                Control.DeviceEvent(
                    what: .away, at: 1, identity: Samples.device.description, name: "a", address: "::1",
                    agent: "a/1", ending: "cut")
            ]),
        ] + lookups

    private static var lookups: [ControlMessage] {
        var lookup = DeviceLookup(key: "KEY", topic: Samples.topic, environment: .production)
        lookup.names = [DeviceName("a")].compactMap { $0 }
        lookup.tags = Set([DeviceTag("b")].compactMap { $0 })
        let address = Samples.replyAddress(1)
        return [
            .lookUp(.devices(lookup), address), .lookedUp(.success([1]), address),
            .lookedUp(.failure(.tooManyRequests), address),
        ]
    }

    private static let receipt = Receipt(
        row: QueueRow(1), device: Samples.device, registration: Samples.first,
        subscription: ReceiptSubscription(Samples.device), expiresAt: Samples.now, outcome: .delivered)

    private static let web: [WebMessage] = {
        let address = Samples.replyAddress(1)
        return WebSamples.messages + [
            .findDevice("a", address), .found(.success(Samples.device), address), .arrived(connection: 1),
        ]
    }()

    private static let all: [ShardMessage] =
        pushes.map { .push($0) } + devices.map { .device($0) } + channels.map { .channel($0) }
        + [
            .registry(.applied(ticket: 1, .success(()))), .registry(.applied(ticket: 1, .failure(failure))),
            .registry(.policyChanged(generation: 2)),
            .registry(.read(ticket: 1, .success(Registry()))), .registry(.sharedChanged(version: 1)),
            .registry(.placed(.unknown)), .registry(.leave([Partition(1)], ticket: 1)),
        ] + [try? LoadedStore(MemoryStore(), shards: 1)].compactMap { $0 }.map { .registry(.taken($0)) }
        + controls.map { .control($0) } + EdgeSamples.messages.map { .edge($0) }
        + (NodeQuerySamples.messages + [.unsent(NodeQuerySamples.address)]).map { .nodeQuery($0) }
        + HandoverSamples.messages.map { .handover($0) } + [.edge(.linkEnded(link: 1))] + web.map { .web($0) }
        + [
            .lifecycle(.drain), .lifecycle(.settingsChanged), .lifecycle(.stop),
        ]

    /// The name of a message. A new case does not compile before it has a name here, and then it needs a message in
    /// ``all``.
    private static func name(_ message: ShardMessage) -> String {
        switch message {
        case .push(.deliver): "deliver"
        case .push(.answer): "answer"
        case .push(.stored): "stored"
        case .push(.loaded): "loaded"
        case .device(.enrol): "enrol"
        case .device(.enrolled): "enrolled"
        case .device(.arrived): "arrived"
        case .channel(.order): "order"
        case .channel(.answer): "channel answer"
        case .channel(.subscribe): "subscribe"
        case .channel(.subscribed): "subscribed"
        case .channel(.broadcast): "broadcast"
        case .channel(.removed): "removed"
        case .web(.request(let request, _)):
            switch request {
            case .push: "web push"
            case .send: "plain send"
            case .cancel: "cancel"
            case .readReceipts: "read receipts"
            case .removeReceipt: "remove receipt"
            }
        case .web(.accepted): "accepted web push"
        case .web(.findDevice): "find device"
        case .web(.found): "found device"
        case .web(.receipt): "receipt"
        case .web(.receipts): "receipts"
        case .web(.removed): "removed by a sender"
        case .web(.refused): "refused web push"
        case .web(.arrived): "arrived browser"
        case .edge(.open): "open"
        case .edge(.openBrowser): "open for a browser"
        case .edge(.close): "close"
        case .edge(.said): "said"
        case .edge(.ended): "ended"
        case .edge(.say): "say"
        case .edge(.finish): "finish"
        case .edge(.refuse): "refuse"
        case .edge(.linkEnded): "ended link"
        case .nodeQuery(.ask): "ask a node"
        case .nodeQuery(.goOn): "go on"
        case .nodeQuery(.answer): "answer of a node"
        case .nodeQuery(.unsent): "unsent question"
        case .handover(.again): "again"
        case .handover(.recall): "recall"
        case .handover(.returned): "returned"
        case .handover(.recalled): "recalled"
        case .registry(.applied): "applied"
        case .registry(.policyChanged): "policy"
        case .registry(.placed): "places"
        case .registry(.read): "read registry"
        case .registry(.sharedChanged): "changed by other nodes"
        case .registry(.taken): "taken partitions"
        case .registry(.leave): "leave"
        case .control(.question): "question"
        case .control(.reply): "reply"
        case .control(.measure): "measure"
        case .control(.capturesChanged): "captures"
        case .control(.devices): "device events"
        case .control(.enrolled): "enrolled device"
        case .control(.lookUp): "lookup"
        case .control(.lookedUp): "looked up"
        case .control(.traced): "traced"
        case .lifecycle(.drain): "drain"
        case .lifecycle(.settingsChanged): "settings"
        case .lifecycle(.stop): "stop"
        }
    }

    /// Returns the paths of closures and objects in a value, apart from the three classes that never change.
    private static func references(in value: Any, at path: String) -> [String] {
        if value is Notification || value is Broadcast || value is TraceContext { return [] }
        let type = "\(type(of: value))"
        let mirror = Mirror(reflecting: value)
        if mirror.displayStyle == .class || type.contains("->") { return ["\(path): \(type)"] }
        return mirror.children.enumerated().flatMap { place, child in
            references(in: child.value, at: "\(path).\(child.label ?? "\(place)")")
        }
    }

    @Test("holds plain values only, whatever it is", arguments: all.indices)
    private func plain(_ index: Int) {
        let message = Self.all[index]
        #expect(Self.references(in: message, at: Self.name(message)) == [])
    }

    @Test("of every kind is looked at")
    private func complete() { #expect(Set(Self.all.map(Self.name)).count == 62) }

    @Test("would be seen to hold an object or a closure if it did")
    private func seen() {
        final class Object {}
        struct Holder {
            let some: [(Int, Any)]
        }
        let found = Self.references(in: Holder(some: [(1, Object()), (2, { () in })]), at: "it")
        #expect(found.count == 2 && found[0].hasSuffix(": Object") && found[1].contains("->"))
    }
}

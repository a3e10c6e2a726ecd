import PostriderCourier
import PostriderNotifications
import Testing

@testable import PostriderAgent

@Suite("The router, for channels")
struct AppRouterChannelTests {
    private let fixture: RouterFixture
    private let wish = Subscribe(topic: RecordedApp.topic, channel: ChannelIdentity(high: 1, low: 2))

    init() throws { fixture = try RouterFixture() }

    private func broadcast(_ number: UInt64) -> Deliver {
        Deliver(
            delivery: 0, identity: NotificationIdentity(high: 7, low: number), topic: wish.topic,
            payload: Array("{}".utf8), priority: .immediate, expiration: .nowOrNever, collapseIdentifier: nil,
            pushType: "liveactivity", acceptedAt: Moment(milliseconds: 1), channel: wish.channel)
    }

    private func last(_ number: UInt64?) -> Subscribe {
        Subscribe(
            topic: wish.topic, channel: wish.channel,
            last: number.map { NotificationIdentity(high: 7, low: $0) },
            lastAcceptedAt: number.map { _ in Moment(milliseconds: 1) })
    }

    @Test("remembers a channel across kills, and asks for it on every link with the last that is safe")
    func memory() throws {
        var app = fixture.attached()
        fixture.channels.subscribe(wish, for: app.stream)
        #expect(fixture.link.subscriptions == [last(nil)])
        fixture.channels.subscribed(to: wish.channel)
        #expect(app.told.last == .subscribed(wish.channel))
        for number in [4, 9] as [UInt64] { fixture.deliveries.broadcast(broadcast(number)) }
        #expect(app.delivered.isEmpty, "nothing is handed over before it is safe")
        fixture.router.endTurn()
        #expect(app.identities == [4, 9] && app.delivered.allSatisfy { $0.channel == wish.channel })
        #expect(fixture.link.acknowledged.isEmpty, "a broadcast is not acknowledged")
        try fixture.kill()
        fixture.link.subscriptions = []
        fixture.channels.subscribeAnew()
        #expect(fixture.link.subscriptions == [last(9)])
        app = fixture.attached()
        #expect(app.identities == [4, 9], "what was not handled comes again")
        fixture.deliveries.broadcast(broadcast(9))
        fixture.router.endTurn()
        #expect(app.identities == [4, 9], "a copy is known as one")
    }

    @Test("asks for no channel whose app has given it up, or its topic")
    func ends() throws {
        let app = fixture.attached()
        fixture.channels.subscribe(wish, for: app.stream)
        fixture.channels.unsubscribe(wish, for: app.stream)
        #expect(fixture.link.unsubscribed == [wish.channel])
        #expect(
            app.told.last
                == .unsubscribed(Unsubscribed(channel: wish.channel, reason: "", topic: wish.topic)))
        fixture.link.subscriptions = []
        fixture.channels.subscribeAnew()
        #expect(fixture.link.subscriptions.isEmpty)
        fixture.channels.subscribe(wish, for: app.stream)
        fixture.registrations.unregister(wish.topic, for: app.stream)
        fixture.link.subscriptions = []
        fixture.channels.subscribeAnew()
        #expect(fixture.link.subscriptions.isEmpty)
    }

    @Test("tells the app what the relay has ended, and forgets it")
    func refusal() {
        let app = fixture.attached()
        fixture.channels.subscribe(wish, for: app.stream)
        let end = Unsubscribed(channel: wish.channel, reason: "The channel was deleted.")
        fixture.channels.unsubscribed(end)
        #expect(app.told.last == .unsubscribed(end))
        fixture.link.subscriptions = []
        fixture.channels.subscribeAnew()
        #expect(fixture.link.subscriptions.isEmpty)
    }

    @Test("keeps apart two apps that want the same channel")
    func sharedChannel() {
        let (one, two) = (fixture.attached(), RecordedApp(user: 1000))
        fixture.registrations.register("com.example.two", for: two.stream)
        fixture.router.endTurn()
        let foreign = Subscribe(topic: "com.example.two", channel: wish.channel)
        for (app, wish) in [(one, wish), (two, foreign)] { fixture.channels.subscribe(wish, for: app.stream) }
        fixture.channels.unsubscribed(
            Unsubscribed(
                channel: wish.channel, reason: "The app has no such channel.", topic: foreign.topic))
        #expect(two.told.last != nil && one.told.last != two.told.last)
        fixture.link.subscriptions = []
        fixture.channels.subscribeAnew()
        #expect(fixture.link.subscriptions == [last(nil)], "the channel is the first one's still")
        fixture.channels.subscribe(foreign, for: two.stream)
        fixture.channels.unsubscribe(foreign, for: two.stream)
        #expect(fixture.link.unsubscribed.isEmpty, "the device has one subscription for both")
        fixture.channels.unsubscribe(wish, for: one.stream)
        #expect(fixture.link.unsubscribed == [wish.channel])
    }

    @Test("lets nobody subscribe for an app that is another user's, or not registered")
    func strangers() {
        let stranger = RecordedApp(user: 1001)
        fixture.channels.subscribe(wish, for: stranger.stream)
        #expect(stranger.told.count == 1 && fixture.link.subscriptions.isEmpty)
        _ = fixture.attached()
        fixture.channels.subscribe(wish, for: stranger.stream)
        #expect(stranger.told.count == 2 && fixture.link.subscriptions.isEmpty)
    }

    /// Subscribes to new channels until the router refuses one. Returns the number of subscriptions and the reason of
    /// the refusal.
    private func fill(_ topic: String, for app: RecordedApp) -> (count: Int, reason: String) {
        let before = app.told.count
        for number in 0...UInt64(Limits.subscriptionsPerDevice) {
            let channel = ChannelIdentity(high: UInt64(topic.utf8.count), low: number)
            fixture.channels.subscribe(Subscribe(topic: topic, channel: channel), for: app.stream)
            guard app.told.count > before, case .unsubscribed(let end) = app.told.last else { continue }
            return (Int(number), end.reason)
        }
        return (Limits.subscriptionsPerDevice + 1, "")
    }

    @Test("lets an app have as many of the device's subscriptions as it leaves to the others, and says so")
    func bound() {
        let app = fixture.attached()
        let first = fill(wish.topic, for: app)
        #expect(first.count == Limits.subscriptionsPerDevice / 2)
        #expect(
            first.reason
                == "The app has 128 of the device's 256 subscriptions, and 128 are left for other apps: "
                + "unsubscribe from a channel first.")
        let known = Subscribe(
            topic: wish.topic, channel: ChannelIdentity(high: UInt64(wish.topic.utf8.count), low: 3))
        fixture.channels.subscribe(known, for: app.stream)
        #expect(fixture.link.subscriptions.last == known, "one that it has is asked for again")

        var (topic, counts) = ("com.example", [Int]())
        var reason = ""
        while counts.last != 0, counts.count < 20 {
            topic += ".a"
            let other = RecordedApp(user: 1000)
            fixture.registrations.register(topic, for: other.stream)
            fixture.router.endTurn()
            let filled = fill(topic, for: other)
            counts.append(filled.count)
            reason = filled.reason
        }
        #expect(counts == [64, 32, 16, 8, 4, 2, 1, 1, 0], "each leaves some to the next")
        #expect(reason.hasPrefix("Other apps have all of the device's 256 subscriptions"))
    }
}

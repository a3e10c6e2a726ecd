import PostriderCourier
import PostriderHTTP2
import PostriderNotifications
import PostriderTransport
import Testing

@testable import PostriderAgent

@Suite("Calls on the app socket")
struct AppSocketTests {
    @Test("are worked off for so long in a turn, the rest in the next ones, in order")
    func bounded() throws {
        let fixture = try SocketFixture(callsPerTurn: 10)
        let app = try #require(fixture.connect())
        let stream = try app.attach()
        app.call(100, on: stream)
        try fixture.turn()
        let first = app.answers[stream]?.count ?? 0
        #expect(first > 0 && first <= 10)
        try fixture.turn(times: 20)
        #expect(app.answers[stream] == Array(1...100))
    }

    @Test("are begun in every turn, however long one takes")
    func always() throws {
        let fixture = try SocketFixture(callsPerTurn: 1)
        let app = try #require(fixture.connect())
        let stream = try app.attach()
        app.call(3, on: stream)
        try fixture.turn(times: 4)
        #expect(app.answers[stream] == [1, 2, 3])
    }

    @Test("of one user wait for no more than one of another's, whoever has more connections")
    func fair() throws {
        let fixture = try SocketFixture(callsPerTurn: 2)
        var streams: [Int32] = []
        for _ in 0..<8 {
            let app = try #require(fixture.connect())
            streams.append(try app.attach())
            app.call(100, on: try #require(streams.last), topic: "com.example.hog")
        }
        try fixture.turn()
        let other = try #require(fixture.connect(user: 1001))
        let stream = try other.attach()
        other.call(3, on: stream, topic: "com.example.other")
        try fixture.turn(times: 6)
        #expect(other.answers[stream] == [1, 2, 3])
        // And no connection of a user waits until another one has got all its answers.
        let served = zip(fixture.apps, streams).count { app, stream in app.answers[stream]?.isEmpty == false }
        #expect(served >= 3)
    }

    @Test("are worked off before their stream ends, and before it is answered so")
    func ended() throws {
        let fixture = try SocketFixture(callsPerTurn: 10)
        let app = try #require(fixture.connect())
        let stream = try app.attach()
        app.call(50, on: stream)
        app.client.finish(stream)
        try fixture.turn()
        #expect(app.statuses[stream] == nil)
        try fixture.turn(times: 10)
        #expect(app.answers[stream] == Array(1...50))
        #expect(app.statuses[stream] == "0")
        #expect(fixture.fixture.streams.attachments.isEmpty)
    }

    @Test("in front of a mistake are worked off, those behind it are not")
    func mistaken() throws {
        let fixture = try SocketFixture(callsPerTurn: 10)
        let app = try #require(fixture.connect())
        let stream = try app.attach()
        app.call(20, on: stream)
        app.say(AppMessage.handled([7]), on: stream)
        app.call(20, on: stream)
        try fixture.turn()
        #expect(app.statuses[stream] == nil)
        try fixture.turn(times: 10)
        #expect(app.answers[stream] == Array(1...20))
        #expect(app.statuses[stream] == "\(CourierError.outOfOrder("").status.rawValue)")
    }

    @Test("leave no more bytes waiting than a window holds, and the next come when they are worked off")
    func window() throws {
        let fixture = try SocketFixture(callsPerTurn: 10)
        let app = try #require(fixture.connect())
        let stream = try app.attach()
        app.call(5000, on: stream)
        let bytes = app.client.outboundBytes(stream)
        try fixture.turn(times: 3)
        #expect(bytes - app.client.outboundBytes(stream) <= Int(Limits.callBytesPerAppConnection))
        try fixture.turn(times: 600)
        #expect(app.answers[stream] == Array(1...5000))
    }

    @Test("that come in parts on all streams of a connection do not close its window")
    func parts() throws {
        let fixture = try SocketFixture(callsPerTurn: 1000)
        let app = try #require(fixture.connect())
        var streams: [Int32] = []
        let wish = AppMessage.failed(Failed(delivery: 1, reason: String(repeating: "x", count: 16_000)))
        var frame: [UInt8] = []
        MessageFraming.frame(wish, into: &frame)
        let (most, rest) = (Array(frame.dropLast()), Array(frame.suffix(1)))
        for _ in 0..<Limits.streamsPerAppConnection {
            let stream = try app.attach()
            app.client.send(stream, most.span)
            streams.append(stream)
        }
        try fixture.turn(times: 10)
        for stream in streams { app.client.send(stream, rest.span) }
        try fixture.turn(times: 2)
        // No call was interrupted.
        #expect(app.statuses.count == streams.count)
    }

    @Test("of an input method take their turns too")
    func keyboard() throws {
        let fixture = try SocketFixture(callsPerTurn: 10)
        fixture.server.keyboardUsers = [1000]
        let app = try #require(fixture.connect())
        let stream = try app.attach(.keyboard)
        for width in 1...Int32(50) {
            let frame = KeyboardFrame(x: 0, y: 0, width: width, height: 1)
            app.say(KeyboardOrder(frame: frame), on: stream)
        }
        app.client.finish(stream)
        try fixture.turn()
        #expect(app.statuses[stream] == nil)
        try fixture.turn(times: 10)
        #expect(app.statuses[stream] == "0")
    }
}

@Suite("Calls of an app that is gone")
struct GoneAppTests {
    @Test("are worked off, and nothing more is handed over to it")
    func crashed() throws {
        let fixture = try SocketFixture(callsPerTurn: 10)
        let app = try #require(fixture.connect())
        let stream = try app.attach()
        app.say(AppMessage.attach(topic: RecordedApp.topic), on: stream)
        app.say(AppMessage.register(topic: RecordedApp.topic), on: stream)
        try fixture.turn()
        fixture.fixture.arrive(1)
        try fixture.turn()
        #expect(app.delivered == [1])
        app.call(30, on: stream)
        app.say(AppMessage.handled([1]), on: stream)
        app.say(AppMessage.subscribe(.sample), on: stream)
        try fixture.turn()
        app.crash()
        fixture.fixture.arrive(2)
        try fixture.turn(times: 10)
        #expect(fixture.fixture.link.subscriptions.count == 1)
        #expect(fixture.fixture.streams.attachments.isEmpty)
        #expect(!fixture.server.hasMessages)
        // The first notification was handled. The second was never delivered, so it has not failed.
        let record = try #require(fixture.fixture.files.state.apps[RecordedApp.topic])
        #expect(Array(try fixture.fixture.files.state.inbox.attempts(of: record.number).values) == [0])
    }

    @Test("keep the place of its connection, so that nobody has more waiting by coming and going")
    func comesAndGoes() throws {
        let fixture = try SocketFixture(callsPerTurn: 1)
        for _ in 0..<Limits.appConnectionsPerUser {
            let app = try #require(fixture.connect())
            app.call(2, on: try app.attach())
        }
        try fixture.turn()
        for app in fixture.apps { app.crash() }
        #expect(fixture.connect() == nil)
        try fixture.turn(times: 3 * Limits.appConnectionsPerUser)
        #expect(fixture.connect() != nil)
    }

    @Test("come before those of the app that has come back, and keep nobody else waiting")
    func cameBack() throws {
        let fixture = try SocketFixture(callsPerTurn: 10)
        let other = try #require(fixture.connect())
        let app = try #require(fixture.connect())
        let (stream, others) = (try app.attach(), try other.attach())
        app.say(AppMessage.register(topic: RecordedApp.topic), on: stream)
        app.call(100, on: stream)
        app.say(AppMessage.subscribe(.sample), on: stream)
        try fixture.turn()
        app.crash()
        let back = try #require(fixture.connect())
        back.say(AppMessage.unsubscribe(.sample), on: try back.attach())
        other.call(5, on: others, topic: "com.example.other")
        try fixture.turn(times: 3)
        #expect(other.answers[others] == Array(1...5))
        #expect(fixture.fixture.link.subscriptions.isEmpty)
        try fixture.turn(times: 20)
        #expect(fixture.fixture.link.subscriptions.count == 1)
        #expect(try fixture.fixture.files.state.channels.apps(of: Subscribe.sample.channel).isEmpty)
        #expect(!fixture.server.hasMessages)
    }

    @Test("come before those of its next stream on the same connection")
    func nextStream() throws {
        let fixture = try SocketFixture(callsPerTurn: 10)
        let app = try #require(fixture.connect())
        let stream = try app.attach()
        app.say(AppMessage.register(topic: RecordedApp.topic), on: stream)
        app.call(100, on: stream)
        app.say(AppMessage.subscribe(.sample), on: stream)
        app.client.finish(stream)
        app.say(AppMessage.unsubscribe(.sample), on: try app.attach())
        try fixture.turn(times: 20)
        #expect(fixture.fixture.link.subscriptions.count == 1)
        #expect(try fixture.fixture.files.state.channels.apps(of: Subscribe.sample.channel).isEmpty)
    }

    @Test("that has cancelled are worked off")
    func cancelled() throws {
        let fixture = try SocketFixture(callsPerTurn: 10)
        let app = try #require(fixture.connect())
        let stream = try app.attach()
        app.say(AppMessage.register(topic: RecordedApp.topic), on: stream)
        app.call(30, on: stream)
        app.say(AppMessage.subscribe(.sample), on: stream)
        try fixture.turn()
        app.client.reset(stream, errorCode: ErrorCode.cancel)
        try fixture.turn(times: 10)
        #expect(fixture.fixture.link.subscriptions.count == 1)
        #expect(fixture.fixture.streams.attachments.isEmpty)
        // The connection stays open.
        let next = try app.attach()
        app.call(2000, on: next)
        try fixture.turn(times: 300)
        #expect(app.answers[next] == Array(1...2000))
    }

    @Test("are worked off before the agent closes its connections, and no others")
    func stopped() throws {
        let fixture = try SocketFixture(callsPerTurn: 10)
        let app = try #require(fixture.connect())
        let idle = try #require(fixture.connect())
        let stream = try app.attach()
        app.call(30, on: stream)
        try fixture.turn()
        fixture.server.close()
        #expect(idle.end == .localClose)
        #expect(app.end == nil)
        app.call(30, on: stream)
        try fixture.turn(times: 10)
        #expect(app.end == .localClose)
        #expect(app.answers[stream] == Array(1...30))
        #expect(!fixture.server.hasMessages)
    }
}

extension Subscribe {
    /// A subscription to a channel of the usual topic.
    fileprivate static let sample = Subscribe(
        topic: RecordedApp.topic, channel: ChannelIdentity(high: 1, low: 2))
}

import PostriderClients
import PostriderCourier
import Testing

@testable import PostriderTransport

@Suite("A device client that is stopped")
struct DeviceClientEndTests {
    let fixture: DeviceFixture
    var loop: EventLoop { fixture.loop }
    var relay: FakeRelay { fixture.relay }
    var recorder: Recorder { fixture.recorder }

    init() throws { fixture = try DeviceFixture() }

    @Test("says goodbye when it is stopped, and is not heard of again")
    func stop() throws {
        relay.onMessage = { link, message in
            switch message {
            case .hello: link.welcome()
            case .goodbye: link.end(.ok)
            case .register, .unregister, .acknowledge, .subscribe, .unsubscribe, .reception, .fetch,
                .report, .registerWebPush, .unknown:
                break
            }
        }
        let client = try fixture.makeClient()
        client.start()
        loop.turn { client.isConnected }
        var stops = 0
        client.stop { stops += 1 }
        client.stop { stops += 1 }
        #expect(!client.isConnected)
        loop.turn { stops == 2 && relay.links[0].session.isGone }
        let goodbye = Goodbye(reason: .shutdown, retryAfterMilliseconds: 0, detail: "")
        #expect(relay.links[0].messages.last == .goodbye(goodbye))
        #expect(recorder.ends.map(\.nextAttemptMilliseconds) == [nil])
        #expect(recorder.ends.map(\.end) == [.connection(.localClose)])
        loop.turnAFewTimes()
        #expect(relay.links.count == 1)
        client.stop { stops += 1 }
        #expect(stops == 3)
    }

    @Test("does not wait long for a relay that does not take its leave")
    func stubbornRelay() throws {
        fixture.welcomeAll()
        let client = try fixture.makeClient { $0.goodbyeMilliseconds = 20 }
        client.start()
        loop.turn { client.isConnected }
        var isStopped = false
        client.stop { isStopped = true }
        loop.turn { isStopped }
    }

    @Test("can be stopped before anything came about", arguments: [0, 1, 2, 3, 4])
    func earlyStop(_ turns: Int) throws {
        fixture.welcomeAll()
        let client = try fixture.makeClient { $0.goodbyeMilliseconds = 20 }
        client.start()
        loop.turn(times: turns)
        var stops = 0
        client.stop { stops += 1 }
        loop.turn { stops == 1 && recorder.ends.count == 1 }
        loop.turnAFewTimes()
        #expect(stops == 1)
        #expect(recorder.ends.map(\.nextAttemptMilliseconds) == [nil])
    }

    @Test("can be stopped while it waits, and from inside of what it tells")
    func stopWhileWaiting() throws {
        relay.server.stopListening()
        let client = try fixture.makeClient(baseMilliseconds: 600_000)
        client.start()
        loop.turn { recorder.ends.count == 1 }
        var isStopped = false
        client.stop { isStopped = true }
        #expect(isStopped)
        recorder.onEnd = { client.stop() }
        client.start()
        loop.turn { recorder.ends.count == 2 }
        loop.turnAFewTimes()
        #expect(recorder.log.count { $0 == "will connect" } == 2)
        recorder.onEnd = {}
    }

    @Test("is gone when it is dropped")
    func dropped() throws {
        fixture.welcomeAll()
        do {
            let client = try fixture.makeClient()
            client.start()
            loop.turn { client.isConnected }
        }
        loop.turn { relay.links[0].session.isGone }
        loop.turnAFewTimes()
        #expect(recorder.ends.isEmpty)
        #expect(relay.links.count == 1)
    }
}

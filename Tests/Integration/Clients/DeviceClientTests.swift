import PostriderClients
import PostriderCourier
import PostriderEndpoints
import PostriderHTTP2
import PostriderNotifications
import Testing

@testable import PostriderTransport

@Suite("A device client")
struct DeviceClientTests {
    let fixture: DeviceFixture
    var loop: EventLoop { fixture.loop }
    var relay: FakeRelay { fixture.relay }
    var recorder: Recorder { fixture.recorder }

    init() throws { fixture = try DeviceFixture() }

    @Test("says who it is, then brings the registrations to what is wanted")
    func hello() throws {
        fixture.welcomeAll([try .sample("gone"), try .sample("there"), try .sample("unknown")])
        let client = try fixture.makeClient(topics: [
            "there": .production, "gone": .production, "new": .production,
        ]) { $0.keepaliveSeconds = 33 }
        client.send(.unregister(topic: "gone"))
        client.start()
        loop.turn { relay.links.first?.messages.count == 3 }
        client.send(.register(topic: "later"))
        client.send(.unregister(topic: "new"))
        loop.turn { relay.links.first?.messages.count == 5 }
        let hello = Hello(
            deviceIdentity: DeviceIdentity(high: 1, low: 2), deviceSecret: Array(repeating: 7, count: 32),
            keepaliveSeconds: 33, agent: "test/1")
        #expect(
            relay.links[0].messages == [
                .hello(hello), .register(topic: "new"), .unregister(topic: "gone"),
                .register(topic: "later"), .unregister(topic: "new"),
            ])
        #expect(client.isConnected)
        #expect(recorder.log == ["will connect", "did connect"])
    }

    @Test("passes on what the relay says of registrations")
    func registrations() throws {
        let good = try Registered.sample("good")
        relay.onMessage = { link, message in
            switch message {
            case .hello: link.welcome()
            case .register("good", _): link.say(.registered(good))
            case .register(let topic, _): link.say(.refused(Refused(topic: topic, reason: "no")))
            case .unregister(let topic): link.say(.unregistered(topic: topic))
            case .acknowledge, .goodbye, .subscribe, .unsubscribe, .reception, .fetch, .report,
                .registerWebPush, .unknown:
                break
            }
        }
        let client = try fixture.makeClient(topics: ["good": .production, "bad": .production])
        client.start()
        loop.turn { recorder.tokens["good"] != nil && recorder.refusals.count == 1 }
        #expect(recorder.refusals == [Refused(topic: "bad", reason: "no")])
        client.send(.unregister(topic: "good"))
        loop.turn { recorder.tokens["good"] == nil }
    }

    @Test("comes back with back-off, whatever ended the link, and tells when")
    func backoff() throws {
        var attempts = 0
        relay.onMessage = { link, message in
            guard case .hello = message else { return }
            attempts += 1
            switch attempts {
            case 1: link.session.die()
            case 2: link.end(.unavailable, "später")
            case 3: link.goodbye(.shutdown, retryAfterMilliseconds: 3)
            case 4:
                link.welcome()
                link.end(.ok)
            case 5: link.say(.deliver(.sample(1)))
            default: link.welcome()
            }
        }
        let client = try fixture.makeClient()
        client.start()
        loop.turn { client.isConnected && attempts == 6 }
        #expect(recorder.ends.map(\.nextAttemptMilliseconds) == [1, 2, 3 + 4, 8, 8])
        #expect(
            recorder.ends.map(\.end) == [
                .connection(.peerReset),
                .status(.unavailable, "später"),
                .goodbye(Goodbye(reason: .shutdown, retryAfterMilliseconds: 3, detail: "so")),
                .connection(.peerClosed),
                .protocolError(.outOfOrder("The first message of a relay must be its welcome.")),
            ])
        #expect(recorder.log.count { $0 == "will connect" } == 6)
        guard case .goodbye(let goodbye) = relay.links[4].messages.last else {
            Issue.record("a relay that breaks the protocol is not told so")
            return
        }
        #expect(goodbye.reason == .protocolError)
    }

    @Test("comes back when nobody listens")
    func refused() throws {
        let client = try fixture.makeClient()
        relay.server.stopListening()
        client.start()
        loop.turn { recorder.ends.count == 3 }
        for end in recorder.ends {
            guard case .connection(.refused) = end.end else {
                Issue.record("\(end)")
                return
            }
        }
        client.stop()
    }

    @Test("does not come back when another connection has taken its place, unless it is started again")
    func replaced() throws {
        relay.onMessage = { [unowned relay] link, message in
            guard case .hello = message else { return }
            link.welcome()
            if relay.links.count == 1 { link.goodbye(.replaced) }
        }
        let client = try fixture.makeClient()
        client.start()
        loop.turn { recorder.ends.count == 1 }
        #expect(recorder.ends[0].end.isReplacement && !recorder.ends[0].end.isUnknownDevice)
        #expect(recorder.ends[0].nextAttemptMilliseconds == nil)
        loop.turnAFewTimes()
        #expect(relay.links.count == 1)
        client.start()
        loop.turn { client.isConnected }
    }

    @Test("does not come back when the relay does not know it", arguments: [false, true])
    func unknownDevice(_ saysGoodbye: Bool) throws {
        relay.onMessage = { link, message in
            guard case .hello = message else { return }
            if saysGoodbye { link.goodbye(.removed) } else { link.end(.unauthenticated, "no") }
        }
        let client = try fixture.makeClient()
        client.start()
        loop.turn { recorder.ends.count == 1 }
        #expect(recorder.ends[0].end.isUnknownDevice)
        #expect(recorder.ends[0].nextAttemptMilliseconds == nil)
        #expect(!client.isConnected)
    }

    @Test("understands a relay that answers with nothing but trailers, or not as gRPC does")
    func trailersOnly() throws {
        relay.server.onHead = { [unowned server = relay.server] session, stream in
            if session === server.sessions.first {
                session.endpoint.streams.respond(
                    stream, [":status": "200", "grpc-status": "8", "grpc-message": "voll"])
            } else {
                session.endpoint.streams.respond(stream, [":status": "503"])
            }
        }
        let client = try fixture.makeClient()
        client.start()
        loop.turn { recorder.ends.count == 2 }
        #expect(recorder.ends.map(\.end) == [.status(.resourceExhausted, "voll"), .status(.unavailable, "")])
        client.stop()
    }

    @Test("gives up a relay that never welcomes it")
    func noWelcome() throws {
        let client = try fixture.makeClient { $0.welcomeMilliseconds = 20 }
        client.start()
        loop.turn { recorder.ends.count == 2 }
        #expect(recorder.ends[0].end == .connection(.idleTimeout))
        client.stop()
    }

    @Test("sends PINGs, and takes a relay that does not answer them for dead")
    func keepalive() throws {
        fixture.welcomeAll(keepaliveSeconds: 1)
        let client = try fixture.makeClient { $0.pongMilliseconds = 50 }
        client.start()
        loop.turn { client.isConnected }
        // This is long enough for some PINGs that are answered.
        let started = loop.now
        loop.turn { loop.now - started > 2_200_000_000 }
        #expect(recorder.ends.isEmpty)
        relay.links[0].session.turnDeaf()
        loop.turn { recorder.ends.count == 1 }
        #expect(recorder.ends[0].end == .connection(.idleTimeout))
        loop.turn { relay.links.count == 2 && client.isConnected }
    }

    @Test("acknowledges what was delivered, but never on another link than it came on")
    func acknowledgement() throws {
        fixture.welcomeAll()
        let client = try fixture.makeClient()
        client.start()
        loop.turn { client.isConnected }
        for number in 1...3 { relay.links[0].say(.deliver(.sample(UInt64(number)))) }
        loop.turn { recorder.delivered.count == 3 }
        client.acknowledge([3, 1], over: recorder.links[0])
        loop.turn { relay.links[0].acknowledged == [3, 1] }
        relay.links[0].session.die()
        loop.turn { relay.links.count == 2 && client.isConnected }
        relay.links[1].say(.deliver(.sample(1)))
        relay.links[1].say(.deliver(.sample(2)))
        loop.turn { recorder.delivered.count == 5 }
        client.acknowledge([2], over: recorder.links[0])
        client.acknowledge([1], over: recorder.links[4])
        loop.turn { !relay.links[1].acknowledged.isEmpty }
        loop.turnAFewTimes()
        #expect(relay.links[1].acknowledged == [1])
        #expect(relay.links.allSatisfy { $0.errors.isEmpty })
    }
}

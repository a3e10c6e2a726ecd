import PostriderClients
import PostriderCourier
import PostriderCrypto
import PostriderEndpoints
import PostriderHTTP2
import PostriderNotifications
import PostriderRelay
import PostriderTLS
import Testing

@testable import PostriderTransport

@Suite("Clients of a real relay")
struct ClientsOfRelayTests {
    @Test("enrol, connect and get a device token")
    func registration() async throws {
        let fixture = try await RelayFixture()
        let recorder = Recorder()
        let client = DeviceClient(
            try fixture.deviceConfiguration(), topics: [RelayFixture.topic: .production], on: fixture.loop,
            random: { 0 }, delegate: recorder)
        client.start()
        fixture.loop.turn { recorder.tokens[RelayFixture.topic] != nil }
        #expect(client.isConnected)
        var isStopped = false
        client.stop { isStopped = true }
        fixture.loop.turn { isStopped }
        #expect(recorder.log == ["will connect", "did connect", "did disconnect"])
        #expect(recorder.ends.last?.nextAttemptMilliseconds == nil)
        await fixture.stop()
    }

    @Test("are told why an enrolment is refused, in words that a sentence goes on with")
    func refusedEnrolment() async throws {
        let fixture = try await RelayFixture(shards: 1)
        let outcome = try fixture.enrol(key: "enrol-wrong")
        await fixture.stop()
        let error = try #require(throws: EnrolmentError.self) { try outcome.get() }
        let why = "The enrolment key is not known to this relay"
        #expect(error.description == "the relay refuses the enrolment (unauthenticated): \(why)")
    }

    @Test("are told of a port that is not for devices, whether they enrol or have enrolled before")
    func wrongPort() async throws {
        let fixture = try await RelayFixture(shards: 1)
        let sentence =
            "Providers connect to this port; devices have one of their own, 5223 if not set otherwise."
        let outcome = try fixture.enrol(at: fixture.providers)
        let recorder = Recorder()
        var configuration = try fixture.deviceConfiguration()
        configuration.relays = [fixture.providers]
        let client = DeviceClient(
            configuration, topics: [:], on: fixture.loop, random: { 0 }, delegate: recorder)
        client.start()
        fixture.loop.turn { !recorder.ends.isEmpty }
        var isStopped = false
        client.stop { isStopped = true }
        fixture.loop.turn { isStopped }
        await fixture.stop()
        #expect(outcome == .failure(.refused(.unimplemented, sentence)))
        #expect(recorder.ends.first?.end == .status(.unimplemented, sentence))
        #expect(
            recorder.ends.first?.end.description
                == "the relay ended the link (unimplemented): " + sentence.dropLast())
    }

    @Test("are told of a port that is not for providers")
    func portOfDevices() async throws {
        let fixture = try await RelayFixture(shards: 1)
        let tokens = ProviderTokenMaker(key: fixture.signingKey, keyIdentifier: "KEY1", team: "TEAM1")
        let provider = ProviderClient(to: fixture.devices, tokens: tokens, on: fixture.loop)
        let token = String(repeating: "ab", count: 32)
        let outcome = try fixture.push(
            Push(to: token, topic: Topic(RelayFixture.topic), payload: []), provider)
        provider.close()
        await fixture.stop()
        #expect(outcome.status == 415)
        #expect(
            outcome.reason
                == "Devices connect to this port, by gRPC: content-type must be application/grpc.")
    }

    @Test("are told of a server that is no relay")
    func wrongServer() throws {
        let loop = try EventLoop()
        let server = try FakeServer(on: loop)
        server.onRequest = { session, request in
            session.endpoint.streams.respond(request.stream, [":status": "404"])
        }
        var outcome: Result<EnrollResponse, EnrolmentError>?
        DeviceClient.enrol(at: try server.place, key: "key", name: "device", on: loop) { outcome = $0 }
        loop.turn { outcome != nil }
        let error = try #require(throws: EnrolmentError.self) { try outcome?.get() }
        #expect(error.description == "no devices are taken there")
    }

    @Test("ask the control socket")
    func control() async throws {
        let fixture = try await RelayFixture(shards: 1)
        #expect(try fixture.counters().accepted == 0)
        await fixture.stop()
    }

    @Test(
        "push to a device that is there, with everything a push can carry",
        arguments: TLSRecords.allCases)
    func delivery(records: TLSRecords) async throws {
        let fixture = try await RelayFixture(records: records)
        let recorder = Recorder()
        let client = DeviceClient(
            try fixture.deviceConfiguration(), topics: [RelayFixture.topic: .production], on: fixture.loop,
            random: { 0 },
            delegate: recorder)
        recorder.onDelivery = { deliver, link in client.acknowledge([deliver.delivery], over: link) }
        client.start()
        fixture.loop.turn { recorder.tokens[RelayFixture.topic] != nil }
        let token = try #require(recorder.tokens[RelayFixture.topic])
        let identity = NotificationIdentity(high: 1, low: 2)
        let expiresAt = Moment(seconds: fixture.loop.wallMilliseconds / 1000 + 3600)
        var push = Push(to: token.hex, topic: Topic(RelayFixture.topic), payload: Array(#"{"aps":{}}"#.utf8))
        push.identity = identity
        push.pushType = .background
        push.priority = .considerate
        push.expiration = .at(expiresAt)
        push.collapseIdentifier = "slot"
        let outcome = try fixture.push(push, fixture.makeProvider())
        #expect(outcome.isAccepted)
        #expect(outcome.identity == identity.description)
        #expect(outcome.reason == nil)
        fixture.loop.turn { !recorder.delivered.isEmpty }
        let deliver = try #require(recorder.delivered.first)
        #expect(deliver.identity == identity)
        #expect(deliver.payload == push.payload)
        #expect(deliver.pushType == "background")
        #expect(deliver.priority == .considerate)
        #expect(deliver.expiration == .at(expiresAt))
        #expect(deliver.collapseIdentifier == "slot")
        fixture.loop.turn { (try? fixture.counters().delivered) == 1 }
        #expect(try fixture.counters().isBalanced)
        await fixture.stop()
    }

    @Test(
        "push to a device that is away: it gets everything in order when it comes back",
        arguments: TLSRecords.allCases)
    func pending(records: TLSRecords) async throws {
        let fixture = try await RelayFixture(records: records)
        let recorder = Recorder()
        let client = DeviceClient(
            try fixture.deviceConfiguration(), topics: [RelayFixture.topic: .production], on: fixture.loop,
            random: { 0 },
            delegate: recorder)
        let provider = try fixture.makeProvider()
        client.start()
        fixture.loop.turn { recorder.tokens[RelayFixture.topic] != nil }
        stop(client, fixture.loop)
        let token = try #require(recorder.tokens[RelayFixture.topic])
        for number in 1...100 {
            let payload = Array(#"{"number":\#(number)}"#.utf8)
            let outcome = try fixture.push(
                Push(to: token.hex, topic: Topic(RelayFixture.topic), payload: payload), provider)
            #expect(outcome.isAccepted)
        }

        // The device receives a full window, acknowledges its first half and disconnects.
        client.start()
        fixture.loop.turn { recorder.delivered.count == 64 }
        #expect(recorder.welcomes.last?.pending == 100)
        client.acknowledge((1...32).map { UInt64($0) }, over: try #require(recorder.links.last))
        fixture.loop.turn { recorder.delivered.count > 64 }
        stop(client, fixture.loop)

        recorder.delivered = []
        var ready: [UInt64] = []
        recorder.onDelivery = { deliver, _ in ready.append(deliver.delivery) }
        client.start()
        fixture.loop.turn {
            if let link = recorder.links.last { client.acknowledge(ready, over: link) }
            ready = []
            return recorder.delivered.count == 68
        }
        let payloads = recorder.delivered.map { String(decoding: $0.payload, as: UTF8.self) }
        #expect(payloads == (33...100).map { #"{"number":\#($0)}"# })
        if let link = recorder.links.last { client.acknowledge(ready, over: link) }
        fixture.loop.turn { (try? fixture.counters().delivered) == 100 }
        let counters = try fixture.counters()
        #expect(counters.isBalanced && counters.pending == 0)
        stop(client, fixture.loop)
        client.start()
        fixture.loop.turn { client.isConnected }
        #expect(recorder.welcomes.last?.pending == 0)
        await fixture.stop()
    }

    @Test("are told why a push is refused")
    func refusals() async throws {
        let fixture = try await RelayFixture()
        let payload = Array("{}".utf8)
        let stranger = String(repeating: "ab", count: 32)
        let push = Push(to: stranger, topic: Topic(RelayFixture.topic), payload: payload)
        var outcome = try fixture.push(push, fixture.makeProvider())
        #expect(outcome.status == 400 && outcome.reason == "BadDeviceToken")
        #expect(outcome.identity?.isEmpty == false)
        outcome = try fixture.push(push, fixture.makeProvider(key: .generate()))
        #expect(outcome.status == 403 && outcome.reason == "InvalidProviderToken")
        outcome = try fixture.push(Push(to: stranger, topic: nil, payload: payload), fixture.makeProvider())
        #expect(outcome.status == 400 && outcome.reason == "MissingTopic")
        await fixture.stop()
    }

    @Test("are told since when a device token is dead")
    func unregistered() async throws {
        let fixture = try await RelayFixture()
        let recorder = Recorder()
        let client = DeviceClient(
            try fixture.deviceConfiguration(), topics: [RelayFixture.topic: .production], on: fixture.loop,
            random: { 0 },
            delegate: recorder)
        client.start()
        fixture.loop.turn { recorder.tokens[RelayFixture.topic] != nil }
        let token = try #require(recorder.tokens[RelayFixture.topic])
        client.send(.unregister(topic: RelayFixture.topic))
        fixture.loop.turn { recorder.tokens[RelayFixture.topic] == nil }
        let outcome = try fixture.push(
            Push(to: token.hex, topic: Topic(RelayFixture.topic), payload: Array("{}".utf8)),
            fixture.makeProvider())
        #expect(outcome.status == 410 && outcome.reason == "Unregistered")
        #expect((outcome.timestamp?.milliseconds ?? 0) > 0)
        client.send(.register(topic: "org.example.unknown"))
        fixture.loop.turn { recorder.refusals.count == 1 }
        await fixture.stop()
    }

    @Test("see the newest link of a device win")
    func replacement() async throws {
        let fixture = try await RelayFixture()
        let configuration = try fixture.deviceConfiguration()
        let (older, newer) = (Recorder(), Recorder())
        let first = DeviceClient(configuration, on: fixture.loop, random: { 0 }, delegate: older)
        let second = DeviceClient(configuration, on: fixture.loop, random: { 0 }, delegate: newer)
        first.start()
        fixture.loop.turn { first.isConnected }
        second.start()
        fixture.loop.turn { second.isConnected && older.ends.count == 1 }
        guard case .goodbye(let goodbye) = older.ends[0].end else {
            Issue.record("\(older.ends)")
            return
        }
        #expect(goodbye.reason == .replaced)
        #expect(older.ends[0].nextAttemptMilliseconds == nil)
        await fixture.stop()
    }

    @Test("survive the relay's end: devices are told, pushes are answered or told apart")
    func shutdown() async throws {
        let fixture = try await RelayFixture()
        let recorder = Recorder()
        let client = DeviceClient(
            try fixture.deviceConfiguration(), topics: [RelayFixture.topic: .production], on: fixture.loop,
            random: { .max },
            delegate: recorder)
        client.start()
        fixture.loop.turn { recorder.tokens[RelayFixture.topic] != nil }
        let token = try #require(recorder.tokens[RelayFixture.topic])
        let provider = try fixture.makeProvider()
        var outcomes: [Result<PushOutcome, ClientError>] = []
        for _ in 0..<200 {
            let push = Push(to: token.hex, topic: Topic(RelayFixture.topic), payload: Array("{}".utf8))
            try provider.push(push) { outcomes.append($0) }
        }
        fixture.loop.turn { outcomes.count > 10 }
        // On a busy machine, an earlier attempt may have failed.
        let earlier = recorder.ends.count
        await fixture.stop()
        fixture.loop.turn { outcomes.count == 200 && recorder.ends.count > earlier }
        let end = recorder.ends[earlier]
        guard case .goodbye(let goodbye) = end.end else {
            Issue.record("\(recorder.ends)")
            return
        }
        #expect(goodbye.reason == .shutdown)
        #expect((end.nextAttemptMilliseconds ?? 0) >= Int(goodbye.retryAfterMilliseconds))
        client.stop()
    }

    private func stop(_ client: DeviceClient, _ loop: EventLoop) {
        var isStopped = false
        client.stop { isStopped = true }
        loop.turn { isStopped }
    }
}

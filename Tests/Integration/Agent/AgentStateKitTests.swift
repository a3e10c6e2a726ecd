import Foundation
import PostriderCourier
import PostriderNotifications
import Synchronization
import Testing

@testable import PostriderAgent
@testable import PostriderKit

@Suite("An application that looks for its agent", .timeLimit(.minutes(10)))
struct MissingAgentTests {
    private let scratch = Scratch()

    @Test("says in one line what it tried and what to do, and is there when the agent is", .bug(id: "K2"))
    func absence() async throws {
        let (lines, news) = (Journal<String>(), Journal<String?>())
        let dispatcher = NotificationDispatcher()
        let application = Application(
            topic: RecordedApp.topic, socketPath: scratch.socket, dispatcher: dispatcher,
            complain: { lines.note($0) })
        let observation = dispatcher.addObserver(of: AgentConnectionDidChange.self) { news.note($0.reason) }
        #expect(application.agentConnection == .none)
        try application.start()
        let line = try #require(await lines.first(1).first)
        #expect(line.hasPrefix("com.example.one: The agent cannot be reached at \(scratch.socket) "))
        #expect(line.contains("No such file or directory") && line.contains("start the agent"))
        #expect(line.contains("POSTRIDER_AGENT_SOCKET"))
        guard case .unreachable(let reason) = application.agentConnection else {
            Issue.record("the application is \(application.agentConnection)")
            return
        }
        #expect(await news.first(1) == [reason])

        let agent = try AgentFixture(scratch)
        _ = try await application.userNotificationCenter.authorizationStatus()
        #expect(application.agentConnection == .connected)
        #expect(await news.first(2).last == .some(nil))
        await agent.kill()
        // The end of the agent is reported, and a line says that it cannot be reached any more.
        #expect(await lines.first(2).last?.contains("cannot be reached") == true)
        await application.end()
        #expect(application.agentConnection == .none)
        withExtendedLifetime(observation) {}
    }

    @Test("says what is wrong with the path", .bug(id: "K2"))
    func paths() throws {
        let file = scratch.path + "/file"
        try Data().write(to: URL(filePath: file))
        #expect(AgentFault.unreachable(file, because: "Connection refused").contains("this is no socket"))
        let missing = AgentFault.unreachable(scratch.path + "/a/b", because: "Permission denied")
        #expect(missing.contains("must be able to search the folders"))
        let other = AgentFault.noAgent(file, because: "HTTP status 404")
        #expect(other.contains("does not answer as an agent does (HTTP status 404)"))
    }

    @Test("says so where something else listens there", .bug(id: "K2"))
    func stranger() async throws {
        let lines = Journal<String>()
        let server = try await UnansweredSocket(scratch.socket)
        let application = Application(
            topic: RecordedApp.topic, socketPath: scratch.socket, complain: { lines.note($0) })
        try application.start()
        #expect(await lines.first(1)[0].contains("does not answer as an agent does"))
        await application.end()
        withExtendedLifetime(server) {}
    }
}

@Suite("What holds on the device", .timeLimit(.minutes(10)))
struct DeviceStateKitTests {
    private let scratch = Scratch()
    private let dispatcher = NotificationDispatcher()
    private let frame = KeyboardFrame(x: 0, y: 5, width: 9, height: 4)

    private func connected(_ parts: AgentFixture.Parts) {
        parts.clockChanged(byMilliseconds: 0, zone: "Europe/Berlin")
        parts.system.tell(.link(LinkChange(phase: .didConnect, relay: "r:1")))
    }

    @Test("can be asked, and is told on each attach before what is handed over", .bug(id: "A4"))
    func attaching() async throws {
        var agent = try AgentFixture(scratch)
        let application = Application(
            topic: RecordedApp.topic, socketPath: scratch.socket, dispatcher: dispatcher)
        let journal = Journal<String>()
        let observation = dispatcher.addObserver(sender: application) { notification in
            guard notification.name != .agentConnectionDidChange else { return }
            journal.note(notification.name.rawValue.split(separator: ".").last.map(String.init) ?? "")
        }
        await agent.on { [frame] parts in
            connected(parts)
            _ = parts.system.move(KeyboardOrder(frame: frame), by: nil)
            let stream = AppStream(user: getuid()) { _ in }
            parts.registrations.attach(RecordedApp.topic, for: stream)
            parts.router.left(stream)
            try? parts.center.respond(
                to: .remote(payload: Array("{}".utf8)), of: RecordedApp.topic, action: "1", text: nil)
        }
        #expect(application.relayLink == nil)
        try application.start()
        let keyboard = ["WillChangeFrame", "WillShow", "DidChangeFrame", "DidShow"].map { "keyboard" + $0 }
        let first = await journal.first(7)
        #expect(Array(first.prefix(5)) == ["relayLinkDidConnect"] + keyboard)
        #expect(Set(first.suffix(2)) == ["authorizationDidChange", "responseDidArrive"])
        #expect(application.relayLink == .connected(relay: "r:1"))
        #expect(application.keyboardFrame == .init(x: 0, y: 5, width: 9, height: 4))
        #expect(application.timeZone?.identifier == "Europe/Berlin")
        #expect(application.authorizationStatus == .notDetermined)

        // The next agent has no keyboard, and the app connects to it a little later.
        await agent.kill()
        while application.relayLink != nil { await Task.yield() }
        agent = try AgentFixture(scratch)
        while application.agentConnection != .connected { await Task.yield() }
        await agent.on { connected($0) }
        while application.relayLink == nil || application.keyboardFrame != nil { await Task.yield() }
        #expect(application.relayLink == .connected(relay: "r:1"))
        let hidden = ["WillChangeFrame", "WillHide", "DidChangeFrame", "DidHide"].map { "keyboard" + $0 }
        while !journal.events.dropFirst(7).contains("relayLinkDidConnect") { await Task.yield() }
        let rest = await journal.first(12).dropFirst(7)
        #expect(rest.filter { $0.hasPrefix("keyboard") } == hidden)
        while application.timeZone?.identifier != "Europe/Berlin" { await Task.yield() }
        await application.end()
        withExtendedLifetime(observation) {}
        await agent.kill()
    }

    @Test("is not asked of an agent of an earlier version, which does not tell it", .bug(id: "A4"))
    func earlierAgent() {
        let application = Application(topic: RecordedApp.topic, socketPath: scratch.socket)
        application.agentAnswered()
        #expect(application.relayLink == nil && application.timeZone == nil)
        #expect(application.keyboardFrame == nil && application.authorizationStatus == nil)
    }
}

@Suite("A push in the kit", .timeLimit(.minutes(10)))
struct PushHeadersKitTests {
    private static let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

    @Test("carries its headers and its dates, for typed and untyped observers", .bug(id: "K4"))
    func headers() async throws {
        let (stage, dispatcher) = (try KitFixture(), NotificationDispatcher())
        let application = try await stage.register(dispatcher)
        let headers = Journal<PushHeaders?>()
        let observations = [
            dispatcher.addObserver(of: RemoteNotificationDidArrive.self) { headers.note($0.push) },
            dispatcher.addObserver(named: .remoteNotificationDidArrive) { headers.note($0.push) },
        ]
        let identity = NotificationIdentity(high: 0x1234_5678_9ABC_4DEF, low: 0x8123_4567_89AB_CDEF)
        let deliver = Deliver(
            delivery: 1, identity: identity, topic: RecordedApp.topic, payload: Array("{}".utf8),
            priority: .considerate, expiration: .at(Moment(milliseconds: 2_000_000_000_000)),
            collapseIdentifier: "score", pushType: "background",
            acceptedAt: Moment(milliseconds: 1_700_000_000_500),
            traceContext: TraceContext(parent: Self.parent, state: "a=1"))
        let now = await stage.agent.on { parts in
            parts.deliveries.delivered(deliver)
            return parts.clock.wallMilliseconds
        }
        let expected = PushHeaders(
            identifier: "12345678-9ABC-4DEF-8123-456789ABCDEF", topic: RecordedApp.topic,
            pushType: .background, priority: .considerate,
            expiration: Date(timeIntervalSince1970: 2_000_000_000), collapseIdentifier: "score",
            acceptedAt: Date(timeIntervalSince1970: 1_700_000_000.5),
            receivedAt: Date(timeIntervalSince1970: Double(now) / 1000), traceParent: Self.parent,
            traceState: "a=1")
        #expect(await headers.first(2) == [expected, expected])
        await application.end()
        withExtendedLifetime(observations) {}
        await stage.agent.kill()
    }

    @Test(
        "has the trace context in its user info, unless the payload has one of its own",
        arguments: [
            ("{}", "a=1", parent, "a=1"), ("{}", nil, parent, nil),
            (#"{"traceparent":"own"}"#, "a=1", "own", nil),
        ] as [(String, String?, String, String?)])
    func traceContext(_ payload: String, _ state: String?, _ parent: String, _ stateInInfo: String?) {
        let deliver = Deliver(
            delivery: 1, identity: NotificationIdentity(high: 1, low: 2), topic: RecordedApp.topic,
            payload: Array(payload.utf8), priority: .immediate, expiration: .nowOrNever,
            collapseIdentifier: nil, pushType: nil, acceptedAt: Moment(milliseconds: 1),
            traceContext: TraceContext(parent: Self.parent, state: state))
        let userInfo = deliver.arrival.userInfo
        #expect(userInfo["traceparent"]?.string == parent)
        #expect(userInfo["tracestate"]?.string == stateInInfo)
    }

    @Test(
        "of an earlier agent has no date of receipt, and one that the app posts has no headers",
        .bug(id: "K4"))
    func earlierAgent() throws {
        var bytes: [UInt8] = []
        Deliver.sample(1, identity: 1).encode(into: &bytes)
        let push = try #require(try Deliver(decoding: bytes.span).arrival.push)
        #expect(push.receivedAt == nil && push.pushType == nil && push.expiration == nil)
        #expect(push.priority == .immediate)
        #expect(DispatchedNotification(RemoteNotificationDidArrive(userInfo: [:])).push == nil)
    }
}

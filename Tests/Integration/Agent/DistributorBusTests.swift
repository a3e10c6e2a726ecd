import PostriderCourier
import PostriderCrypto
import PostriderDBus
import PostriderNotifications
import Testing

@testable import PostriderAgent
@testable import PostriderTransport

/// An app on a session bus, with a connector that answers.
private final class BusApp {
    private let line: ReconnectingBus
    /// The calls of its connector, in order.
    private(set) var heard: [BusRequest] = []

    init(_ line: ReconnectingBus) {
        self.line = line
        line.start { [unowned self] event in
            guard case .opened(let connection) = event else { return }
            #expect(throws: Never.self) {
                try connection.serve("/org/unifiedpush/Connector") { [unowned self, unowned connection] in
                    heard.append($0)
                    try? connection.answer($0, with: .values([.named([])]))
                }
            }
            call("org.freedesktop.DBus", "RequestName", [.string("org.example.App"), .uint32(0)]) { _ in }
        }
    }

    func call(
        _ destination: String, _ member: String, _ arguments: [BusValue],
        _ receive: @escaping (Result<BusReply, BusError>) -> Void
    ) {
        let isBus = destination == "org.freedesktop.DBus"
        let call = BusCall(
            destination, path: isBus ? "/org/freedesktop/DBus" : "/org/unifiedpush/Distributor",
            interface: isBus ? destination : "org.unifiedpush.Distributor2", member: member,
            arguments: arguments)
        #expect(throws: Never.self) { try line.current?.call(call, receive) }
    }

    /// Calls the bus until it names the owner of the distributor's name, which is not `former`.
    func find(after former: String = "", _ found: @escaping (String) -> Void) {
        call("org.freedesktop.DBus", "GetNameOwner", [.string(DistributorBus.name)]) {
            [unowned self] answer in
            let owner = (try? answer.get())?.values.first?.text ?? ""
            if owner.isEmpty || owner == former { find(after: former, found) } else { found(owner) }
        }
    }
}

@Suite("The UnifiedPush distributor on a session bus", .timeLimit(.minutes(10)))
struct DistributorBusTests {
    private let loop: EventLoop
    private let bus = TestBus()
    private let agent: RouterFixture
    private let app: BusApp

    init() throws {
        loop = try EventLoop()
        try bus.start()
        agent = try RouterFixture()
        app = BusApp(ReconnectingBus(to: bus.address, on: loop, log: .none) { 0 })
    }

    private func makeDistributor() -> Distributor {
        let entropy = Entropy()
        let line = ReconnectingBus(to: bus.address, on: loop, log: .none) { 0 }
        let distributor = Distributor(
            agent.parts, link: agent.link, caller: DistributorBus(line, log: .none),
            scheduler: agent.handlerClock, random: { entropy.next() }, log: .none)
        distributor.start()
        return distributor
    }

    private func run(until isSo: () -> Bool) {
        while !isSo() {
            agent.router.endTurn()
            agent.handlerClock.fireTimers()
            agent.router.endTurn()
            if !isSo() { loop.turn() }
        }
    }

    private func owner(after former: String = "") -> String {
        var owner = ""
        app.find(after: former) { owner = $0 }
        run { !owner.isEmpty }
        return owner
    }

    @Test("answers an app when the relay has, tells it its address, and passes its messages on")
    func life() throws {
        let distributor = makeDistributor()
        agent.router.distributor = distributor
        _ = owner()
        var answers: [Result<BusReply, BusError>] = []
        let wish: [(name: String, value: BusValue)] = [
            ("service", .string("org.example.App")), ("token", .string("t")),
        ]
        app.call(DistributorBus.name, "Register", [.named(wish)]) { answers.append($0) }
        run { agent.state.connectors["t"] != nil }
        let topic = try #require(agent.state.connectors["t"]?.topic)
        #expect(answers.isEmpty)
        let registered = Registered(topic: topic, deviceToken: DeviceToken(words: SIMD4(1, 2, 3, 4)))
        agent.router.receive(
            .connected(
                Welcome(
                    keepaliveSeconds: 60, window: 64, registrations: [registered], pending: 0,
                    webPushURL: "https://a/push/")))
        run { !answers.isEmpty && !app.heard.isEmpty }
        #expect(
            try answers[0].get().values
                == [.named([("success", .string("REGISTRATION_SUCCEEDED"))])])
        let told = try #require(app.heard[0].arguments?.first?.namedValues)
        #expect(app.heard[0].member == "NewEndpoint")
        #expect(told["endpoint"] == .string("https://a/push/" + registered.deviceToken.hex))
        agent.router.receive(
            .delivered(
                Deliver(
                    delivery: 1, identity: NotificationIdentity(high: 0, low: 1), topic: topic,
                    payload: [0, 255], priority: .immediate, expiration: .nowOrNever,
                    collapseIdentifier: nil, pushType: nil, acceptedAt: Moment(milliseconds: 1))))
        run { app.heard.count == 2 }
        let message = try #require(app.heard[1].arguments?.first?.namedValues)
        #expect(message["message"] == .array(of: "y", [.byte(0), .byte(255)]))
        let record = try #require(agent.state.apps[topic])
        run { (try? agent.state.inbox.count(of: record.number)) == 0 }
    }

    @Test("follows another distributor of its name when that ends")
    func succession() {
        let first = makeDistributor()
        let former = owner()
        let second = makeDistributor()
        #expect(owner() == former)
        first.stop()
        #expect(owner(after: former).hasPrefix(":"))
        second.stop()
    }

    @Test("answers a call that does not follow the specification with an error, and goes on")
    func errors() throws {
        let distributor = makeDistributor()
        _ = owner()
        var answers: [Result<BusReply, BusError>] = []
        app.call(DistributorBus.name, "Register", [.named([("token", .string("t"))])]) {
            answers.append($0)
        }
        app.call(DistributorBus.name, "Unregister", [.named([("token", .string("u"))])]) {
            answers.append($0)
        }
        run { answers.count == 2 }
        #expect(throws: BusError.self) { try answers[0].get() }
        #expect(try answers[1].get().values == [.named([])])
        #expect(agent.state.connectors.records.isEmpty)
        distributor.stop()
    }
}

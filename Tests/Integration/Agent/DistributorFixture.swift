import PostriderCourier
import PostriderCrypto
import PostriderDBus
import PostriderNotifications
import Testing

@testable import PostriderAgent

/// Apps on a bus that answer as the test says.
final class RecordedCaller: ConnectorCaller {
    var isUp = true

    func start(for distributor: Distributor) {}
    func stop() { isUp = false }

    /// The calls that have no answer yet, in order.
    private(set) var open: [(call: BusCall, receive: (Result<BusReply, BusError>) -> Void)] = []
    /// All calls, in order.
    private(set) var calls: [BusCall] = []

    func call(
        _ call: BusCall, timeoutMilliseconds: Int, _ receive: @escaping (Result<BusReply, BusError>) -> Void
    ) {
        guard isUp else { return receive(.failure(.lost)) }
        calls.append(call)
        open.append((call, receive))
    }

    func tell(_ call: BusCall) -> Bool {
        if isUp { calls.append(call) }
        return isUp
    }

    /// Answers the first call that has no answer.
    func answer(_ result: Result<BusReply, BusError> = .success(BusReply(sender: ":1.1", values: []))) {
        guard !open.isEmpty else {
            Issue.record("nothing is asked")
            return
        }
        open.removeFirst().receive(result)
    }

    /// The bus is gone.
    func lose() {
        isUp = false
        let callers = open
        open = []
        for (_, receive) in callers { receive(.failure(.lost)) }
    }

    /// The bytes of the messages that were sent.
    var messages: [[UInt8]] {
        calls.filter { $0.member == "Message" }.compactMap { call in
            let value = call.arguments.first?.namedValues?["message"] ?? call.arguments.dropFirst().first
            guard case .array("y", let bytes)? = value else { return nil }
            return bytes.compactMap { if case .byte(let byte) = $0 { byte } else { nil } }
        }
    }

    /// The addresses that apps were told.
    var endpoints: [String] {
        calls.filter { $0.member == "NewEndpoint" }.compactMap {
            ($0.arguments.first?.namedValues?["endpoint"] ?? $0.arguments.last)?.text
        }
    }
}

/// A distributor over an agent's parts, with recorded apps.
final class DistributorFixture {
    static let url = "https://push.example.org/push/"
    static let absence = BusError.refused(name: "org.freedesktop.DBus.Error.ServiceUnknown", message: "")

    let agent: RouterFixture
    let caller = RecordedCaller()
    private(set) var distributor: Distributor
    /// The answers to registrations, in order.
    private(set) var outcomes: [RegistrationOutcome] = []

    init() throws {
        agent = try RouterFixture()
        distributor = Self.make(agent, caller)
        begin()
    }

    private static func make(_ agent: RouterFixture, _ caller: RecordedCaller) -> Distributor {
        let entropy = Entropy()
        return Distributor(
            agent.parts, link: agent.link, caller: caller, scheduler: agent.handlerClock,
            random: { entropy.next() }, log: .none)
    }

    private func begin() {
        agent.router.distributor = distributor
        distributor.start()
        turn()
    }

    /// Kills the agent and starts it again.
    func restart() throws {
        try agent.kill()
        distributor = Self.make(agent, caller)
        begin()
    }

    /// Ends turns until nothing more is due.
    func turn() {
        for _ in 0..<3 {
            agent.router.endTurn()
            agent.handlerClock.fireTimers()
        }
        agent.router.endTurn()
    }

    func pass(milliseconds: Int) {
        agent.clock.pass(milliseconds: Int64(milliseconds))
        agent.handlerClock.fireTimers()
        turn()
    }

    func welcome(_ registrations: [Registered] = [], url: String = url) {
        agent.router.receive(
            .connected(
                Welcome(
                    keepaliveSeconds: 60, window: 64, registrations: registrations, pending: 0,
                    webPushURL: url)))
        turn()
    }

    func ask(
        _ token: String = "t", service: String = "org.example.App", key: [UInt8] = [],
        version: ConnectorVersion = .two
    ) {
        distributor.register(
            .init(service: service, token: token, description: "d", senderKey: key, version: version)
        ) { [weak self] in self?.outcomes.append($0) }
        turn()
    }

    /// The topic of a registration.
    func topic(_ token: String = "t") throws -> String {
        try #require(agent.state.connectors[token]?.topic)
    }

    /// The relay makes the registration.
    func confirm(_ token: String = "t", as number: UInt64 = 1) throws -> Registered {
        let registered = Registered(
            topic: try topic(token), deviceToken: DeviceToken(words: SIMD4(number, 0, 0, 0)))
        agent.router.receive(.registered(registered))
        turn()
        return registered
    }

    /// Registers an app that has its address.
    @discardableResult
    func register(
        _ token: String = "t", service: String = "org.example.App", version: ConnectorVersion = .two
    ) throws -> Registered {
        welcome()
        ask(token, service: service, version: version)
        let registered = try confirm(token)
        caller.answer()
        return registered
    }

    /// Messages of an app's server arrive.
    func arrive(
        _ numbers: UInt64..., for token: String = "t", until end: Int64? = nil, collapse: String? = nil
    ) throws {
        for number in numbers {
            agent.router.receive(
                .delivered(
                    Deliver(
                        delivery: number, identity: NotificationIdentity(high: 0, low: number),
                        topic: try topic(token), payload: [UInt8(number), 0xFF], priority: .immediate,
                        expiration: end.map { .at(Moment(milliseconds: $0)) } ?? .nowOrNever,
                        collapseIdentifier: collapse, pushType: nil, acceptedAt: Moment(milliseconds: 1))))
        }
        turn()
    }

    func waitingInInbox(_ token: String = "t") throws -> Int {
        let record = try #require(agent.state.apps[try topic(token)])
        return try agent.state.inbox.count(of: record.number)
    }
}

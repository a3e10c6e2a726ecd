import PostriderCourier
import PostriderDBus
import PostriderNotifications
import Testing

@testable import PostriderAgent

@Suite("The registrations of the UnifiedPush distributor")
struct DistributorTests {
    private let fixture: DistributorFixture

    init() throws { fixture = try DistributorFixture() }

    @Test("registers an app at the relay with its VAPID key, answers, and tells it its address")
    func registration() throws {
        fixture.welcome()
        fixture.ask(key: [4, 5])
        #expect(fixture.outcomes.isEmpty)
        #expect(fixture.agent.link.webPush == [try fixture.topic(): [4, 5]])
        let registered = try fixture.confirm()
        #expect(fixture.outcomes == [.succeeded])
        #expect(fixture.caller.endpoints == [DistributorFixture.url + registered.deviceToken.hex])
    }

    @Test("answers a known app at once, with the same address, even while there is no link")
    func again() throws {
        try fixture.register()
        try fixture.restart()
        fixture.ask()
        #expect(fixture.outcomes == [.succeeded, .succeeded])
        #expect(Set(fixture.caller.endpoints).count == 1 && fixture.caller.endpoints.count == 2)
    }

    @Test("gives an app another address when it comes with another VAPID key, and ends the former one")
    func otherKey() throws {
        try fixture.register()
        let former = try fixture.topic()
        fixture.ask(key: [4])
        #expect(try fixture.topic() != former && fixture.agent.link.asked.contains("unregister \(former)"))
        #expect(fixture.agent.link.webPush[try fixture.topic()] == [4])
        _ = try fixture.confirm(as: 2)
        #expect(Set(fixture.caller.endpoints).count == 2)
    }

    @Test("refuses another app with the connection token of a registered one")
    func otherService() throws {
        try fixture.register()
        fixture.ask(service: "org.example.Thief")
        #expect(fixture.outcomes == [.succeeded, .failed(.internalError)])
        #expect(fixture.agent.state.connectors["t"]?.service == "org.example.App")
    }

    @Test("says that the network is missing, or that the relay does not answer, and forgets the app then")
    func patience() throws {
        fixture.agent.link.isUp = false
        fixture.ask()
        fixture.pass(milliseconds: Limits.connectorRegistrationMilliseconds)
        #expect(fixture.outcomes == [.failed(.network)])
        fixture.agent.link.isUp = true
        fixture.ask()
        fixture.pass(milliseconds: Limits.connectorRegistrationMilliseconds)
        #expect(fixture.outcomes.last == .failed(.internalError))
        #expect(fixture.agent.state.connectors.records.isEmpty)
    }

    @Test("says that somebody has to act when the relay refuses, or when there are too many registrations")
    func refusal() throws {
        fixture.welcome(url: "")
        fixture.ask()
        fixture.agent.router.receive(.refused(Refused(topic: try fixture.topic(), reason: "no")))
        #expect(fixture.outcomes == [.failed(.actionRequired)])
        #expect(fixture.agent.state.connectors.records.isEmpty)
        for number in 0..<Limits.connectors { fixture.ask("t\(number)") }
        fixture.ask("one more")
        #expect(fixture.outcomes.last == .failed(.actionRequired))
        #expect(fixture.agent.state.connectors.records.count == Limits.connectors)
    }

    @Test("lets a bounded number of answers wait for the relay, whoever asks how often")
    func waiting() throws {
        for _ in 0...Limits.waitingRegistrations { fixture.ask() }
        #expect(fixture.outcomes == [.failed(.internalError)])
        _ = try fixture.confirm()
        fixture.welcome()
        #expect(fixture.outcomes.count { $0 == .succeeded } == Limits.waitingRegistrations)
    }

    @Test("tells apps their new addresses when the relay's URL changes, until they know them")
    func otherURL() throws {
        let registered = try fixture.register()
        let later = "https://other.example.org/push/"
        fixture.welcome([registered], url: later)
        #expect(fixture.caller.endpoints.last == later + registered.deviceToken.hex)
        fixture.caller.answer(.failure(DistributorFixture.absence))
        try fixture.restart()
        fixture.welcome([registered], url: later)
        fixture.caller.answer()
        fixture.welcome([registered], url: later)
        #expect(fixture.caller.endpoints.count == 3)
    }

    @Test("confirms an unregistration, after its answer, and gives up the registration at the relay")
    func unregistration() throws {
        try fixture.register()
        let topic = try fixture.topic()
        var wasAnswered = false
        fixture.distributor.unregister("t", .two) {
            wasAnswered = true
            #expect(!fixture.caller.calls.contains { $0.member == "Unregistered" })
        }
        fixture.turn()
        #expect(wasAnswered && fixture.caller.calls.last?.member == "Unregistered")
        #expect(fixture.agent.link.asked.last == "unregister \(topic)")
        #expect(fixture.agent.state.connectors["t"] == nil && fixture.agent.state.apps.unwanted == [topic])
        let calls = fixture.caller.calls.count
        fixture.distributor.unregister("unknown", .two) {}
        #expect(fixture.caller.calls.count == calls)
    }

    @Test("tells an app whose registration the relay's operator has ended")
    func removal() throws {
        try fixture.register()
        fixture.agent.router.receive(.unregistered(topic: try fixture.topic()))
        fixture.turn()
        #expect(fixture.caller.calls.last?.member == "Unregistered")
        #expect(fixture.agent.state.connectors.records.isEmpty && fixture.agent.state.apps.wanted.isEmpty)
    }

    @Test("gives up registrations that no app knows, after the agent was killed within a change")
    func strays() throws {
        try fixture.register()
        let topic = try fixture.topic()
        try fixture.agent.state.connectors.remove("t")
        try fixture.restart()
        #expect(fixture.agent.state.apps.unwanted == [topic])
    }

    @Test("does not give its topics to apps on the agent's own socket")
    func apps() throws {
        try fixture.register()
        let app = RecordedApp(user: 0)
        fixture.agent.registrations.register(try fixture.topic(), for: app.stream)
        #expect(app.told.contains { if case .refused = $0 { true } else { false } })
    }
}

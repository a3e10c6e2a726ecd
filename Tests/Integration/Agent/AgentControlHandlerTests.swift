import Foundation
import PostriderCourier
import PostriderNotifications
import Testing

@testable import PostriderAgent

@Suite("The control handler of the device's owner")
struct AgentControlHandlerTests {
    private let fixture: RouterFixture
    private let control: AgentControlHandler
    private let topic = RecordedApp.topic

    init() throws {
        fixture = try RouterFixture(manifests: [.sample()])
        control = fixture.control(user: 7)
    }

    private func ask<Answer: Decodable>(_ path: String, _ type: Answer.Type = Answer.self) throws -> Answer {
        let answer = control.handle("GET", path, body: [], from: 7)
        #expect(answer.status == 200)
        return try JSONDecoder().decode(Answer.self, from: Data(answer.body))
    }

    private func order(_ method: String, _ path: String, _ body: String = "") -> Int {
        control.handle(method, path, body: Array(body.utf8), from: 0).status
    }

    @Test("hears root and the agent's own user only")
    func callers() {
        for (user, status) in [(0, 200), (7, 200), (8, 403)] as [(UInt32, Int)] {
            #expect(control.handle("GET", "/v1/status", body: [], from: user).status == status)
        }
    }

    @Test("tells what there is: apps, what waits for them, what is pending, what they could not handle")
    func lists() throws {
        fixture.deliveries.mostAttempts = 1
        let app = fixture.attached()
        fixture.arrive(1, 2)
        fixture.router.endTurn()
        #expect(fixture.deliveries.failed(Failed(delivery: 1, reason: "No."), by: app.stream))
        fixture.router.endTurn()
        let apps: [AgentControl.App] = try ask("/v1/apps")
        #expect(apps.map(\.topic) == [topic] && apps[0].state == "active" && apps[0].isDeclared)
        #expect(apps[0].inbox == 1 && apps[0].notifications == "ask")
        let inbox: [AgentControl.Message] = try ask("/v1/inbox")
        #expect(inbox.map(\.kind) == ["push"] && inbox[0].identity.hasSuffix("2"))
        let dead: [AgentControl.Message] = try ask("/v1/dead-letters")
        #expect(dead.map(\.reason) == ["No."])
        let status: AgentControl.Status = try ask("/v1/status")
        #expect(status.apps == 1 && status.inbox == 1 && status.deadLetters == 1 && status.running == 1)
        #expect(status.isConnected && status.relay == "relay.example.org:5223")
        #expect(order("PUT", "/v1/retried-letters/\(dead[0].number)") == 200)
        #expect(order("PUT", "/v1/retried-letters/\(dead[0].number)") == 404)
        #expect(order("DELETE", "/v1/dead-letters/x") == 404)
    }

    @Test("takes the owner's word about an app's alerts")
    func decisions() throws {
        let path = "/v1/authorizations/\(topic)"
        #expect(order("PUT", "/v1/authorizations/a%20b", #"{"isAllowed":true}"#) == 400)
        let app = RecordedApp()
        fixture.registrations.attach(topic, for: app.stream)
        #expect(order("PUT", path, "yes") == 400)
        #expect(order("PUT", path, #"{"isAllowed":true}"#) == 200)
        #expect(app.told.last == .authorization(Authorization(topic: topic, status: .authorized)))
        let apps: [AgentControl.App] = try ask("/v1/apps")
        #expect(apps[0].notifications == "allow")
    }

    @Test("takes the owner's word about alerts, sounds and badges one by one", .bug(id: "K5"))
    func options() throws {
        let path = "/v1/authorizations/\(topic)"
        let some = #"{"isAllowed":true,"options":["alert","badge"]}"#
        // This works even before the app has attached.
        #expect(order("PUT", path, some) == 200)
        let app = RecordedApp()
        fixture.registrations.attach(topic, for: app.stream)
        func granted() -> NotificationOptions? {
            fixture.state.apps[topic].flatMap { fixture.state.centers[$0.number]?.options }
        }
        #expect(granted() == [.alert, .badge])
        #expect(order("PUT", path, #"{"isAllowed":true,"options":["sound"]}"#) == 200 && granted() == .sound)
        #expect(order("PUT", path, some) == 200 && granted() == [.alert, .badge])
        #expect(order("PUT", path, #"{"isAllowed":true,"options":["horn"]}"#) == 400)
        #expect(granted() == [.alert, .badge])
        #expect(order("PUT", path, #"{"isAllowed":true,"options":[]}"#) == 200 && granted() == [])
        #expect(order("PUT", path, #"{"isAllowed":true}"#) == 200 && granted() == .unnamed)
    }

    @Test("takes the owner's word about an app that has not come, lists it, and forgets it", .bug(id: "A15"))
    func decisionsInAdvance() throws {
        let other = "com.example.other"
        func apps() throws -> [AgentControl.App] { try ask("/v1/apps") }
        #expect(order("PUT", "/v1/authorizations/\(other)", #"{"isAllowed":true}"#) == 200)
        let listed = try #require(try apps().first { $0.topic == other })
        #expect(listed.state == "not seen yet" && listed.notifications == "allow" && listed.user == nil)
        #expect(order("DELETE", "/v1/apps/\(other)") == 200)
        #expect(order("DELETE", "/v1/apps/\(other)") == 404)
        #expect(try apps().map(\.topic) == [topic])
        for number in 1...Limits.decisionsInAdvance {
            #expect(order("PUT", "/v1/authorizations/a.b\(number)", #"{"isAllowed":false}"#) == 200)
        }
        #expect(order("PUT", "/v1/authorizations/\(other)", #"{"isAllowed":true}"#) == 409)
        #expect(order("PUT", "/v1/authorizations/a.b7", #"{"isAllowed":true}"#) == 200)
    }

    @Test("starts a declared app, and no other")
    func activation() {
        #expect(order("PUT", "/v1/active-apps/\(topic)") == 200)
        #expect(fixture.launcher.processes.map(\.reason) == ["activation"] && fixture.link.fetches == 1)
        #expect(order("DELETE", "/v1/active-apps/\(topic)") == 200)
        #expect(order("PUT", "/v1/active-apps/com.example.unknown") == 404)
        #expect(order("GET", "/v1/nonsense") == 404)
    }

    @Test("forgets an app, once")
    func forgetting() {
        let app = fixture.attached()
        #expect(order("DELETE", "/v1/apps/\(topic)") == 200)
        #expect(app.told.last == .unregistered(topic: topic))
        fixture.registrations.unregistered(topic)
        #expect(order("DELETE", "/v1/apps/\(topic)") == 404)
    }
}

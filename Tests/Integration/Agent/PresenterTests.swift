import Foundation
import PostriderCourier
import PostriderKit
import PostriderNotifications
import Testing

@testable import PostriderAgent

@Suite("What shows alerts, where there is no screen", .timeLimit(.minutes(10)))
struct PresenterTests {
    private static let topic = CenterFixture.topic
    private static let payload = #"{"aps":{"alert":{"title":"T","body":"b"},"category":"c"}}"#

    /// Makes a presenter as an agent has it after its start.
    private func presenter(_ fixture: CenterFixture) -> Presenter {
        fixture.fixture.presenter
    }

    private func push(_ fixture: CenterFixture, _ identity: UInt64, _ payload: String = payload) {
        fixture.fixture.deliveries.delivered(.sample(identity, identity: identity, payload: payload))
        fixture.endTurn()
    }

    private func responses(_ app: RecordedApp) -> [Responded] {
        app.told.compactMap { if case .responded(let responded) = $0 { responded } else { nil } }
    }

    @Test("has what apps schedule and what providers push with an alert, and lists both as delivered")
    func alerts() throws {
        let fixture = try CenterFixture()
        let presenter = presenter(fixture)
        fixture.fixture.registrations.register(Self.topic, for: fixture.app.stream)
        #expect(fixture.add("tea", nil, title: "Tea") == .done)
        push(fixture, 5)
        push(fixture, 6, "{}")
        #expect(presenter.alerts.map(\.content.title) == ["Tea", "T"])
        #expect(fixture.list(.delivered).count == 2)
        // A repeated push is not shown again.
        push(fixture, 5)
        #expect(presenter.alerts.count == 2)
    }

    @Test("shows nothing of an app that may not notify, and lets go what one has that may not any more")
    func authorization() throws {
        let fixture = try CenterFixture(status: .denied)
        let presenter = presenter(fixture)
        fixture.fixture.registrations.register(Self.topic, for: fixture.app.stream)
        push(fixture, 5)
        #expect(presenter.alerts.isEmpty && fixture.app.delivered.count == 1)
        _ = try fixture.authorizations.decide(.authorized, about: Self.topic)
        push(fixture, 6)
        #expect(presenter.alerts.count == 1)
        _ = try fixture.authorizations.decide(.denied, about: Self.topic)
        fixture.endTurn()
        #expect(presenter.alerts.isEmpty)
    }

    @Test("shows nothing that was not stored in the end, and what was stored before it in the same turn")
    func rollback() throws {
        let fixture = try CenterFixture()
        let presenter = presenter(fixture)
        let state = fixture.fixture.files.state
        let app = try #require(state.apps[Self.topic]).number
        func store(_ identity: UInt64, failing failure: StoreError? = nil) throws {
            let parcel = InboxContent.remote(.sample(identity, identity: identity, payload: Self.payload))
            try state.transaction { () throws(StoreError) in
                _ = try state.inbox.store(
                    [Inbox.Arrival(app: app, parcel: parcel)], at: Moment(milliseconds: 1))
                if let failure { throw failure }
            }
        }
        let full = StoreError(.unusable, "the disk is full")
        #expect(throws: full) { try store(5, failing: full) }
        fixture.endTurn()
        #expect(presenter.alerts.isEmpty && fixture.list(.delivered).isEmpty)
        try store(6)
        #expect(throws: full) { try store(7, failing: full) }
        fixture.endTurn()
        #expect(presenter.alerts.count == 1 && fixture.list(.delivered).count == 1)
    }

    @Test("brings a response to its app, once, and takes the alert away")
    func response() throws {
        let fixture = try CenterFixture()
        let presenter = presenter(fixture)
        _ = fixture.add("tea", nil)
        _ = fixture.add("cake", nil, title: "Cake")
        #expect(presenter.respond(to: "cake", of: Self.topic, action: "snooze", text: "5"))
        #expect(!presenter.respond(to: "cake", of: Self.topic, action: nil, text: nil))
        fixture.endTurn()
        let told = try #require(responses(fixture.app).first)
        #expect(told.action == "snooze" && told.text == "5" && responses(fixture.app).count == 1)
        #expect(presenter.alerts.isEmpty && fixture.list(.delivered) == ["tea"])
    }

    @Test("tells an app of a dismissal where the category asks for it, and of no other", .bug(id: "A17"))
    func dismissal() throws {
        let fixture = try CenterFixture()
        let presenter = presenter(fixture)
        fixture.fixture.registrations.register(Self.topic, for: fixture.app.stream)
        #expect(Responded.dismissAction == ResponseDidArrive.dismissActionIdentifier)
        func dismissed(_ identity: UInt64) -> [String] {
            push(fixture, identity)
            let identifier = presenter.alerts[0].key.identifier
            #expect(presenter.respond(to: identifier, of: Self.topic, action: "postrider.dismiss", text: nil))
            fixture.endTurn()
            #expect(presenter.alerts.isEmpty && fixture.list(.delivered).isEmpty)
            return responses(fixture.app).map(\.action)
        }
        let options: [UInt32] = [0, LocalCategory.customDismissAction, 2]
        for (identity, options) in zip([5, 6, 7] as [UInt64], options) {
            let category = LocalCategory(identifier: "c", actions: [], options: options)
            #expect(fixture.ask(.setCategories([category])) == [.done])
            #expect(fixture.ask(.categories) == [.categories([category])])
            #expect(dismissed(identity) == (identity == 5 ? [] : ["postrider.dismiss"]))
        }
    }

    @Test("brings of a text that a user has written no more than an app can be told")
    func longText() throws {
        let fixture = try CenterFixture()
        _ = presenter(fixture)
        let text = String(repeating: "ü", count: 100_000)
        try fixture.center.respond(
            to: .remote(payload: Array("{}".utf8)), of: Self.topic, action: "reply", text: text)
        fixture.endTurn()
        let told = try #require(responses(fixture.app).first?.text)
        #expect(told.utf8.count == Limits.responseTextBytes && text.hasPrefix(told))
    }

    @Test("shows nothing that was taken back in the turn in which it came")
    func takenBack() throws {
        let fixture = try CenterFixture()
        let presenter = presenter(fixture)
        let orders: [CenterOrder] = [
            .add(.sample("tea", nil, title: "Tea")), .removeDelivered(.some(["tea"])),
            .add(.sample("cake", nil, title: "Cake")),
        ]
        for (number, order) in orders.enumerated() {
            let call = CenterCall(call: 100 + UInt64(number), topic: Self.topic, order: order)
            fixture.center.take(call, from: fixture.app.stream)
        }
        fixture.endTurn()
        #expect(presenter.alerts.map(\.key.identifier) == ["cake"])
        fixture.center.take(
            CenterCall(call: 200, topic: Self.topic, order: .add(.sample("tea", nil, title: "Tea"))),
            from: fixture.app.stream)
        _ = try fixture.authorizations.decide(.denied, about: Self.topic)
        fixture.endTurn()
        #expect(presenter.alerts.isEmpty)
        #expect(try fixture.fixture.files.state.alerts.records().isEmpty)
    }

    @Test("has after the agent's end what it had before, and replaces it")
    func restart() throws {
        let fixture = try CenterFixture()
        var presenter = presenter(fixture)
        _ = fixture.add("tea", nil, title: "one")
        try fixture.restart()
        presenter = self.presenter(fixture)
        #expect(presenter.alerts.map(\.content.title) == ["one"])
        _ = fixture.add("tea", nil, title: "two")
        #expect(presenter.alerts.map(\.content.title) == ["two"])
        _ = fixture.ask(.removeDelivered(.some(["tea"])))
        #expect(presenter.alerts.isEmpty)
    }

    @Test("asks an app that decides, and goes on without its answer when its time is up")
    func decision() throws {
        let fixture = try CenterFixture()
        let presenter = presenter(fixture)
        fixture.fixture.registrations.wish(
            PresentationWish(topic: Self.topic, decides: true), from: fixture.app.stream)
        func questions() -> [UInt64] {
            fixture.app.told.compactMap {
                if case .willPresent(let asked) = $0 { asked.question } else { nil }
            }
        }
        _ = fixture.add("a", nil, title: "A")
        let stranger = RecordedApp(user: 7)
        let question = try #require(questions().last)
        presenter.take(Presentation(question: question, options: [.banner]), from: stranger.stream)
        presenter.take(Presentation(question: question, options: []), from: fixture.app.stream)
        #expect(presenter.alerts.isEmpty)
        _ = fixture.add("b", nil, title: "B")
        #expect(presenter.alerts.count == 1 && questions().count == 2)
        fixture.fixture.clock.fireTimers()
        presenter.take(
            Presentation(question: try #require(questions().last), options: []), from: fixture.app.stream)
        #expect(presenter.alerts.count == 1)
        // Another user's process has no say.
        fixture.fixture.registrations.wish(
            PresentationWish(topic: Self.topic, decides: true), from: stranger.stream)
        #expect(stranger.stream.decisions.isEmpty)
    }

    @Test("lets an app of the kit decide while it runs")
    func kit() async throws {
        let scratch = Scratch()
        let agent = try AgentFixture(scratch)
        let application = Application(
            topic: Self.topic, socketPath: scratch.socket, dispatcher: NotificationDispatcher())
        let journal = Journal<String>()
        try application.start()
        let center = application.userNotificationCenter
        _ = try await center.requestAuthorization()
        try center.willPresent { subject in
            guard case .local(let notification) = subject else { return [] }
            journal.note(notification.identifier)
            return notification.identifier == "loud" ? [.banner] : []
        }
        // The answer to this call follows the processing of the wish.
        _ = try await center.authorizationStatus()
        for identifier in ["quiet", "loud"] {
            var content = NotificationContent()
            content.title = identifier
            try await center.add(NotificationRequest(identifier: identifier, content: content, trigger: nil))
        }
        #expect(await journal.first(2) == ["quiet", "loud"])
        while await agent.on({ $0.presenter.alerts.map(\.key.identifier) }) != ["loud"] { await Task.yield() }
        await application.end()
        await agent.kill()
    }
}

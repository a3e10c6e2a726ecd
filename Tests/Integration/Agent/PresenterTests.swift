import Foundation
import PostriderCourier
import PostriderKit
import PostriderNotifications
import Testing

@testable import PostriderAgent

@Suite("What shows alerts, where there is no screen", .timeLimit(.minutes(10)))
struct PresenterTests {
    private static let topic = CenterRig.topic
    private static let payload = #"{"aps":{"alert":{"title":"T","body":"b"},"category":"c"}}"#

    /// Makes a presenter as an agent has it after its start.
    private func presenter(_ rig: CenterRig) -> Presenter {
        let presenter = Presenter(
            rig.rig.ground.state, desk: rig.rig.desk, manifests: [], line: nil, scheduler: rig.rig.clock,
            log: .none)
        rig.rig.desk.presenter = presenter
        presenter.start()
        return presenter
    }

    private func push(_ rig: CenterRig, _ identity: UInt64, _ payload: String = payload) {
        rig.rig.desk.delivered(.sample(identity, identity: identity, payload: payload))
        rig.endTurn()
    }

    private func responses(_ app: RecordedApp) -> [Responded] {
        app.told.compactMap { if case .responded(let responded) = $0 { responded } else { nil } }
    }

    @Test("has what apps schedule and what providers push with an alert, and lists both as delivered")
    func alerts() throws {
        let rig = try CenterRig()
        let presenter = presenter(rig)
        rig.rig.desk.register(Self.topic, for: rig.app.stream)
        #expect(rig.add("tea", nil, title: "Tea") == .done)
        push(rig, 5)
        push(rig, 6, "{}")
        #expect(presenter.alerts.map(\.content.title) == ["Tea", "T"])
        #expect(rig.list(.delivered).count == 2)
        // A repeated push is not shown again.
        push(rig, 5)
        #expect(presenter.alerts.count == 2)
    }

    @Test("shows nothing of an app that may not notify, and lets go what one has that may not any more")
    func authorization() throws {
        let rig = try CenterRig(status: .denied)
        let presenter = presenter(rig)
        rig.rig.desk.register(Self.topic, for: rig.app.stream)
        push(rig, 5)
        #expect(presenter.alerts.isEmpty && rig.app.delivered.count == 1)
        _ = try rig.center.decide(.authorized, about: Self.topic)
        push(rig, 6)
        #expect(presenter.alerts.count == 1)
        _ = try rig.center.decide(.denied, about: Self.topic)
        #expect(presenter.alerts.isEmpty)
    }

    @Test("shows nothing that was not stored in the end, and what was stored before it in the same turn")
    func rollback() throws {
        let rig = try CenterRig()
        let presenter = presenter(rig)
        let state = rig.rig.ground.state
        let app = try #require(state.apps[Self.topic]).number
        func store(_ identity: UInt64, failing failure: StoreError? = nil) throws {
            let parcel = Parcel.remote(.sample(identity, identity: identity, payload: Self.payload))
            try state.transaction { () throws(StoreError) in
                _ = try state.inbox.store([Inbox.Arrival(app: app, parcel: parcel)])
                if let failure { throw failure }
            }
        }
        let full = StoreError(.unusable, "the disk is full")
        #expect(throws: full) { try store(5, failing: full) }
        rig.endTurn()
        #expect(presenter.alerts.isEmpty && rig.list(.delivered).isEmpty)
        try store(6)
        #expect(throws: full) { try store(7, failing: full) }
        rig.endTurn()
        #expect(presenter.alerts.count == 1 && rig.list(.delivered).count == 1)
    }

    @Test("brings a response to its app, once, and takes the alert away")
    func response() throws {
        let rig = try CenterRig()
        let presenter = presenter(rig)
        _ = rig.add("tea", nil)
        _ = rig.add("cake", nil, title: "Cake")
        #expect(presenter.respond(to: "cake", of: Self.topic, action: "snooze", text: "5"))
        #expect(!presenter.respond(to: "cake", of: Self.topic, action: nil, text: nil))
        rig.endTurn()
        let told = try #require(responses(rig.app).first)
        #expect(told.action == "snooze" && told.text == "5" && responses(rig.app).count == 1)
        #expect(presenter.alerts.isEmpty && rig.list(.delivered) == ["tea"])
    }

    @Test("tells an app of a dismissal where the category asks for it, and of no other", .bug(id: "A17"))
    func dismissal() throws {
        let rig = try CenterRig()
        let presenter = presenter(rig)
        rig.rig.desk.register(Self.topic, for: rig.app.stream)
        #expect(Responded.dismissAction == ResponseDidArrive.dismissActionIdentifier)
        func dismissed(_ identity: UInt64) -> [String] {
            push(rig, identity)
            let identifier = presenter.alerts[0].key.identifier
            #expect(presenter.respond(to: identifier, of: Self.topic, action: "postrider.dismiss", text: nil))
            rig.endTurn()
            #expect(presenter.alerts.isEmpty && rig.list(.delivered).isEmpty)
            return responses(rig.app).map(\.action)
        }
        let options: [UInt32] = [0, LocalCategory.customDismissAction, 2]
        for (identity, options) in zip([5, 6, 7] as [UInt64], options) {
            let category = LocalCategory(identifier: "c", actions: [], options: options)
            #expect(rig.ask(.setCategories([category])) == [.done])
            #expect(rig.ask(.categories) == [.categories([category])])
            #expect(dismissed(identity) == (identity == 5 ? [] : ["postrider.dismiss"]))
        }
    }

    @Test("brings of a text that a user has written no more than an app can be told")
    func longText() throws {
        let rig = try CenterRig()
        _ = presenter(rig)
        let text = String(repeating: "ü", count: 100_000)
        try rig.center.respond(
            to: .remote(payload: Array("{}".utf8)), of: Self.topic, action: "reply", text: text)
        rig.endTurn()
        let told = try #require(responses(rig.app).first?.text)
        #expect(told.utf8.count == Limits.responseTextBytes && text.hasPrefix(told))
    }

    @Test("shows nothing that was taken back in the turn in which it came")
    func takenBack() throws {
        let rig = try CenterRig()
        let presenter = presenter(rig)
        let orders: [CenterOrder] = [
            .add(.sample("tea", nil, title: "Tea")), .removeDelivered(.some(["tea"])),
            .add(.sample("cake", nil, title: "Cake")),
        ]
        for (number, order) in orders.enumerated() {
            let call = CenterCall(call: 100 + UInt64(number), topic: Self.topic, order: order)
            rig.center.take(call, from: rig.app.stream)
        }
        rig.endTurn()
        #expect(presenter.alerts.map(\.key.identifier) == ["cake"])
        rig.center.take(
            CenterCall(call: 200, topic: Self.topic, order: .add(.sample("tea", nil, title: "Tea"))),
            from: rig.app.stream)
        _ = try rig.center.decide(.denied, about: Self.topic)
        rig.endTurn()
        #expect(presenter.alerts.isEmpty)
        #expect(try rig.rig.ground.state.alerts.records().isEmpty)
    }

    @Test("has after the agent's end what it had before, and replaces it")
    func restart() throws {
        let rig = try CenterRig()
        var presenter = presenter(rig)
        _ = rig.add("tea", nil, title: "one")
        try rig.restart()
        presenter = self.presenter(rig)
        #expect(presenter.alerts.map(\.content.title) == ["one"])
        _ = rig.add("tea", nil, title: "two")
        #expect(presenter.alerts.map(\.content.title) == ["two"])
        _ = rig.ask(.removeDelivered(.some(["tea"])))
        #expect(presenter.alerts.isEmpty)
    }

    @Test("asks an app that decides, and goes on without its answer when its time is up")
    func decision() throws {
        let rig = try CenterRig()
        let presenter = presenter(rig)
        rig.rig.desk.wish(PresentationWish(topic: Self.topic, decides: true), from: rig.app.stream)
        func questions() -> [UInt64] {
            rig.app.told.compactMap { if case .willPresent(let asked) = $0 { asked.question } else { nil } }
        }
        _ = rig.add("a", nil, title: "A")
        let stranger = RecordedApp(user: 7)
        let question = try #require(questions().last)
        presenter.take(Presentation(question: question, options: [.banner]), from: stranger.stream)
        presenter.take(Presentation(question: question, options: []), from: rig.app.stream)
        #expect(presenter.alerts.isEmpty)
        _ = rig.add("b", nil, title: "B")
        #expect(presenter.alerts.count == 1 && questions().count == 2)
        rig.rig.clock.fireTimers()
        presenter.take(
            Presentation(question: try #require(questions().last), options: []), from: rig.app.stream)
        #expect(presenter.alerts.count == 1)
        // Another user's process has no say.
        rig.rig.desk.wish(PresentationWish(topic: Self.topic, decides: true), from: stranger.stream)
        #expect(stranger.stream.decisions.isEmpty)
    }

    @Test("lets an app of the kit decide while it runs")
    func kit() async throws {
        let scratch = Scratch()
        let house = try AgentHouse(scratch)
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
        while await house.on({ $0.presenter.alerts.map(\.key.identifier) }) != ["loud"] { await Task.yield() }
        await application.end()
        await house.kill()
    }
}

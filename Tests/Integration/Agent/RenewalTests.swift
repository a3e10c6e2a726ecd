import PostriderClients
import PostriderCourier
import PostriderNotifications
import PostriderRelay
import PostriderTLS
import Testing

@testable import PostriderAgent
@testable import PostriderStorage
@testable import PostriderTransport

@Suite("An agent under which the disk has failed")
struct AgentRenewalTests {
    private let rig: DeskRig
    private var state: AgentState { rig.ground.state }

    init() throws { rig = try DeskRig() }

    /// Lets the disk fail after an app has handled one notification and another has come for a topic, so that the
    /// link starts anew.
    private func startAnew(arriving topic: String) -> RecordedApp {
        let app = rig.attached()
        rig.arrive(1)
        rig.desk.endTurn()
        state.trusted.file.database.isDoubtful = true
        rig.arrive(2, topic: topic)
        #expect(rig.desk.handled([1], by: app.stream))
        rig.desk.endTurn()
        #expect(rig.line.acknowledged == [1] && rig.line.asked.last == "start anew")
        return app
    }

    @Test("acknowledges nothing and hands over what it has, until its state is opened anew")
    func doubt() throws {
        let app = startAnew(arriving: RecordedApp.topic)
        #expect(state.needsRenewal && app.identities == [1])

        try state.renew()
        rig.desk.linkEnded()
        rig.arrive(2)
        rig.desk.endTurn()
        #expect(rig.line.acknowledged == [1, 3] && app.identities == [1, 2])
        try rig.kill()
        #expect(rig.attached().identities == [2], "what was handled in the doubt is not there any more")
    }

    @Test("hands over no more of an app's than a window beyond what is safe, and goes on when it is")
    func window() throws {
        let app = rig.attached()
        let other = RecordedApp()
        rig.desk.register("com.example.two", for: other.stream)
        for identity in 1...200 as ClosedRange<UInt64> { rig.arrive(identity) }
        rig.arrive(1, topic: "com.example.two")
        rig.desk.endTurn()
        let window = UInt64(Limits.appWindow)
        #expect(app.identities == Array(1...window) && other.identities == [1])
        state.trusted.file.database.isDoubtful = true
        #expect(rig.desk.handled(Array(1...window), by: app.stream))
        rig.desk.endTurn()
        rig.desk.endTurn()
        #expect(app.identities == Array(1...window), "an agent that is killed now brings these again")
        try state.renew()
        rig.desk.endTurn()
        #expect(app.identities == Array(1...2 * window))
    }

    @Test("enrols once, and keeps who it is as soon as its state is opened anew")
    func enrolment() async throws {
        let house = try await RelayHouse()
        try enrol(at: house)
        await house.relay.stop()
    }

    private func enrol(at house: RelayHouse) throws {
        let configuration = try house.agentConfiguration(rig.ground.scratch)
        let loop = try EventLoop()
        let tls = try TLSContext.client(trustFile: configuration.trustFile, alpn: ["h2"])
        let (journal, enrolled) = (Journal<String>(), Journal<String>())
        let log = Log { level, text in
            if level == .error { journal.note(text) }
            if text.hasPrefix("enrolled as device") { enrolled.note(text) }
        }
        let rig = try DeskRig(log: log)
        let state = rig.ground.state
        var failures: [AgentFailure] = []
        let link = RelayLink(
            configuration, to: Server(configuration.relay, tls: tls), state: state, desk: rig.desk, on: loop,
            log: log, failed: { failures.append($0) })
        state.trusted.file.database.isDoubtful = true
        link.start()
        while journal.events.isEmpty { loop.turn() }
        try #require(failures.isEmpty, "a full disk ends the link, not the agent")
        try state.renew()
        while !link.isUp { loop.turn() }
        #expect(try state.device() != nil && enrolled.events.count == 1 && failures.isEmpty)
        var isStopped = false
        link.stop { isStopped = true }
        while !isStopped { loop.turn() }
    }

    @Test("brings what a user has done with an alert as soon as its state is opened anew")
    func response() throws {
        let rig = try CenterRig()
        let state = rig.rig.ground.state
        let presenter = Presenter(
            state, desk: rig.rig.desk, manifests: [], line: nil, scheduler: rig.rig.clock, log: .none)
        rig.rig.desk.presenter = presenter
        #expect(rig.add("tea", nil, title: "Tea") == .done)
        state.trusted.file.database.isDoubtful = true
        #expect(presenter.respond(to: "tea", of: CenterRig.topic, action: "stop", text: nil))
        rig.rig.clock.fireTimers()
        rig.endTurn()
        try state.renew()
        rig.rig.clock.fireTimers()
        rig.endTurn()
        let responses = rig.app.told.compactMap {
            if case .responded(let told) = $0 { told.action } else { nil }
        }
        #expect(responses == ["stop"] && presenter.alerts.isEmpty)
        #expect(try state.alerts.records().isEmpty && rig.list(.delivered).isEmpty)
    }

    @Test("has the relay send again also what no app wants and was not acknowledged")
    func unwanted() {
        _ = startAnew(arriving: "com.example.unknown")
    }

    @Test("knows afterwards what the file holds, also of changes that had failed")
    func reload() throws {
        let app = rig.attached()
        let topic = try #require(Topic("com.example.other"))
        let refused = try state.apps.add(topic, user: 1000)
        _ = try state.trusted.file.database.number(
            "DELETE FROM apps WHERE number = \(refused.number) RETURNING 1")
        state.trusted.file.database.isDoubtful = true
        #expect(throws: StoreError.self) { try state.apps.remove(refused) }
        try state.renew()
        #expect(state.apps[topic.text] == nil && state.apps[RecordedApp.topic] != nil)
        #expect(app.delivered.isEmpty)
        rig.arrive(1)
        rig.desk.endTurn()
        #expect(app.identities == [1])
    }
}

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
    private let fixture: RouterFixture
    private var state: AgentState { fixture.files.state }

    init() throws { fixture = try RouterFixture() }

    /// Lets the disk fail after an app has handled one notification and another has come for a topic, so that the
    /// link starts anew.
    private func startAnew(arriving topic: String) -> RecordedApp {
        let app = fixture.attached()
        fixture.arrive(1)
        fixture.router.endTurn()
        state.trusted.file.database.isDoubtful = true
        fixture.arrive(2, topic: topic)
        #expect(fixture.deliveries.handled([1], by: app.stream))
        fixture.router.endTurn()
        #expect(fixture.link.acknowledged == [1] && fixture.link.asked.last == "start anew")
        return app
    }

    @Test("acknowledges nothing and hands over what it has, until its state is opened anew")
    func doubt() throws {
        let app = startAnew(arriving: RecordedApp.topic)
        #expect(state.needsRenewal && app.identities == [1])

        try state.renew()
        fixture.router.receive(.ended)
        fixture.arrive(2)
        fixture.router.endTurn()
        #expect(fixture.link.acknowledged == [1, 3] && app.identities == [1, 2])
        try fixture.kill()
        #expect(fixture.attached().identities == [2], "what was handled in the doubt is not there any more")
    }

    @Test("hands over what a transaction stored that seemed to fail, before what is stored after it")
    func returned() throws {
        let app = fixture.attached()
        fixture.arrive(1)
        fixture.router.endTurn()
        let database = state.trusted.file.database
        var rows: [String] = []
        let number = try #require(state.apps[RecordedApp.topic]).number
        let arrival = Inbox.Arrival(app: number, parcel: .remote(.sample(2, identity: 2)))
        #expect(throws: StoreError.self) {
            try database.transaction { () throws(StoreError) in
                _ = try state.inbox.store([arrival], at: Moment(milliseconds: 1))
                // The transaction is rolled back here, and its log is found whole when the file is opened again.
                rows = try Self.insertions(of: ["seen", "inbox"], in: database)
                throw StoreError(.inputOutput, "The disk fails.")
            }
        }
        database.isDoubtful = true
        fixture.arrive(2)
        fixture.router.endTurn()
        #expect(app.identities == [1] && fixture.link.acknowledged == [1])
        try state.renew()
        for row in rows { try database.execute(row) }
        fixture.router.receive(.ended)
        fixture.arrive(2, 3)
        fixture.router.endTurn()
        #expect(app.identities == [1, 2, 3])
    }

    /// SQL that inserts the last row of each table again.
    private static func insertions(
        of tables: [String], in database: Database
    ) throws(StoreError) -> [String] {
        var insertions: [String] = []
        for table in tables {
            let names = try texts("SELECT name FROM pragma_table_info('\(table)') ORDER BY cid", database)
            let values = names.map { "quote(\($0))" }.joined(separator: " || ',' || ")
            insertions += try texts(
                "SELECT 'INSERT INTO \(table)(\(names.joined(separator: ","))) VALUES(' || \(values) || ')' "
                    + "FROM \(table) ORDER BY row DESC LIMIT 1", database)
        }
        return insertions
    }

    private static func texts(_ sql: String, _ database: Database) throws(StoreError) -> [String] {
        let statement = try database.prepare(sql)
        var texts: [String] = []
        while try statement.step() { texts.append(statement.text(0)) }
        return texts
    }

    @Test("hands over no more of an app's than a window beyond what is safe, and goes on when it is")
    func window() throws {
        let app = fixture.attached()
        let other = RecordedApp()
        fixture.registrations.register("com.example.two", for: other.stream)
        for identity in 1...200 as ClosedRange<UInt64> { fixture.arrive(identity) }
        fixture.arrive(1, topic: "com.example.two")
        fixture.router.endTurn()
        let window = UInt64(Limits.appWindow)
        #expect(app.identities == Array(1...window) && other.identities == [1])
        state.trusted.file.database.isDoubtful = true
        #expect(fixture.deliveries.handled(Array(1...window), by: app.stream))
        fixture.router.endTurn()
        fixture.router.endTurn()
        #expect(app.identities == Array(1...window), "an agent that is killed now brings these again")
        try state.renew()
        fixture.router.endTurn()
        #expect(app.identities == Array(1...2 * window))
    }

    @Test("enrols once, and keeps who it is as soon as its state is opened anew")
    func enrolment() async throws {
        let host = try await RelayInProcess()
        try enrol(at: host)
        await host.relay.stop()
    }

    private func enrol(at host: RelayInProcess) throws {
        let configuration = try host.agentConfiguration(fixture.files.scratch)
        let loop = try EventLoop()
        let tls = try TLSContext.client(trustFile: configuration.trustFile, alpn: ["h2"])
        let (journal, enrolled) = (Journal<String>(), Journal<String>())
        let log = Log { level, text in
            if level == .error { journal.note(text) }
            if text.hasPrefix("enrolled as device") { enrolled.note(text) }
        }
        let fixture = try RouterFixture(log: log)
        let state = fixture.files.state
        let link = RelayLink(
            configuration, to: [Server(configuration.relays[0], tls: tls)], state: state,
            trouble: fixture.trouble,
            on: loop, log: log)
        state.trusted.file.database.isDoubtful = true
        link.start()
        while journal.events.isEmpty { loop.turn() }
        try #require(link.failure == nil, "a full disk ends the link, not the agent")
        try state.renew()
        while !link.isUp { loop.turn() }
        #expect(try state.device() != nil && enrolled.events.count == 1 && link.failure == nil)
        var isStopped = false
        link.stop { isStopped = true }
        while !isStopped { loop.turn() }
    }

    @Test("brings what a user has done with an alert as soon as its state is opened anew")
    func response() throws {
        let fixture = try CenterFixture()
        let state = fixture.fixture.files.state
        let presenter = fixture.fixture.presenter
        #expect(fixture.add("tea", nil, title: "Tea") == .done)
        state.trusted.file.database.isDoubtful = true
        #expect(presenter.respond(to: "tea", of: CenterFixture.topic, action: "stop", text: nil))
        fixture.fixture.clock.fireTimers()
        fixture.endTurn()
        try state.renew()
        fixture.fixture.clock.fireTimers()
        fixture.endTurn()
        let responses = fixture.app.told.compactMap {
            if case .responded(let told) = $0 { told.action } else { nil }
        }
        #expect(responses == ["stop"] && presenter.alerts.isEmpty)
        #expect(try state.alerts.records().isEmpty && fixture.list(.delivered).isEmpty)
    }

    @Test("has the relay send again also what no app wants and was not acknowledged")
    func unwanted() {
        _ = startAnew(arriving: "com.example.unknown")
    }

    @Test("knows afterwards what the file holds, also of changes that had failed")
    func reload() throws {
        let app = fixture.attached()
        let topic = try #require(Topic("com.example.other"))
        let refused = try state.apps.add(topic, user: 1000)
        _ = try state.trusted.file.database.number(
            "DELETE FROM apps WHERE number = \(refused.number) RETURNING 1")
        state.trusted.file.database.isDoubtful = true
        #expect(throws: StoreError.self) { try state.apps.remove(refused) }
        try state.renew()
        #expect(state.apps[topic.text] == nil && state.apps[RecordedApp.topic] != nil)
        #expect(app.delivered.isEmpty)
        fixture.arrive(1)
        fixture.router.endTurn()
        #expect(app.identities == [1])
    }
}

import Foundation
import PostriderNotifications
import Testing

@testable import PostriderAgent
@testable import PostriderStorage

@Suite("An agent whose disk refuses changes")
struct FullDiskTests {
    private let lines = Journal<String>()
    private let fixture: RouterFixture
    private var database: Database { fixture.files.state.trusted.file.database }

    init() throws {
        let lines = lines
        fixture = try RouterFixture(log: Log { level, line in if level <= .notice { lines.note(line) } })
    }

    /// Delivers a notification that cannot be stored.
    private func fail() {
        fixture.arrive(UInt64(fixture.link.asked.count) + 100)
        fixture.router.endTurn()
    }

    @Test("tells that once when it begins and once when it is over, however often it tries", .bug(id: "A18"))
    func lineForEach() throws {
        let app = fixture.attached()
        database.isDoubtful = true
        for _ in 1...50 {
            fail()
            fixture.clock.pass(milliseconds: 180)
            fixture.clock.fireTimers()
        }
        #expect(lines.events.count { $0.hasPrefix("the agent's state is not stored for now: ") } == 1)
        #expect(lines.events.count == 1)
        database.isDoubtful = false
        fixture.arrive(1)
        fixture.router.endTurn()
        let end = try #require(lines.events.last)
        #expect(end.hasPrefix("the agent's state is stored again; ") && end.hasSuffix(" attempts had failed"))
        #expect(lines.events.count == 2 && app.identities == [1])
    }

    @Test("tells of one that fails now and then twice in a minute, not each time", .bug(id: "A18"))
    func changingDisk() {
        let app = fixture.attached()
        for round in 0..<60 as Range<UInt64> {
            database.isDoubtful = round % 2 == 0
            fixture.arrive(round + 1)
            fixture.router.endTurn()
            fixture.clock.pass(milliseconds: 500)
        }
        #expect(lines.events.count == 3 && !app.identities.isEmpty)
    }

    @Test("copies its log when there is room again, though nobody changes anything", .bug(id: "A18"))
    func log() throws {
        let state = fixture.files.state
        let reader = try database.sibling()
        // A reader keeps the log from being copied, as a full disk does.
        try reader.holdMoment()
        let text = String(repeating: "x", count: 4000)
        try database.execute("CREATE TABLE filling(text TEXT)")
        for _ in 0...Limits.logPages { try database.execute("INSERT INTO filling VALUES ('\(text)')") }
        let path = fixture.files.scratch.state + "/agent.sqlite"
        let length = try size(path)
        fixture.router.endTurn()
        #expect(state.boundLog(), "the log waits")
        try reader.execute("COMMIT")
        fixture.clock.fireTimers()
        #expect(!state.boundLog())
        #expect(try size(path) > length + Limits.logPages * 4000)
    }

    private func size(_ path: String) throws -> Int {
        try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0
    }
}

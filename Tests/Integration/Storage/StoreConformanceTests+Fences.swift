import PostriderNotifications
import PostriderStorage
import Testing

/// Tests of stores that several processes use one after another.
extension StoreConformanceTests {
    @Test("The rows of a later process are above those of all earlier ones", arguments: Engine.allCases)
    func rowsRise(_ engine: Engine) throws {
        let fixture = try StoreFixture(engine)
        var used: Int64 = 0
        for _ in 1...3 {
            let first = try fixture.store.scan().last + 1
            #expect(first > used)
            used = first + 1
            try fixture.store.commit(enqueue: [sample(first), sample(used)])
            try fixture.store.commit(settle: [used])
            try fixture.reopen()
        }
        #expect(try fixture.store.rows().count == 3)
    }

    @Test("A store that another process has taken over changes nothing any more", arguments: Engine.fenced)
    func fence(_ engine: Engine) throws {
        let fixture = try StoreFixture(engine)
        let first = fixture.store
        try first.commit(enqueue: [sample(1)])
        let second = try fixture.succeed()
        try second.commit(enqueue: [sample(2)])
        let registry = try second.loadRegistry()
        let refused: [() throws -> Void] = [
            { try first.commit(enqueue: [sample(3)]) }, { try first.commit(settle: [1]) },
            { try first.commit(enqueue: [sample(4)], settle: [1, 2]) },
            { try first.apply([.addTokenSecret([1])]) }, { try first.commit(enqueue: [sample(3)]) },
        ]
        for change in refused {
            let failure = #expect(throws: StoreError.self) { try change() }
            #expect(failure?.kind == .fenced)
        }
        #expect(try second.rows() == [1, 2])
        #expect(try second.loadRegistry() == registry)
        try second.commit(enqueue: [sample(3)], settle: [1])
        #expect(try second.rows() == [2, 3])
        second.close()
        first.close()
    }

    @Test(
        "A store is copied whole into an empty one, also after an interruption, and never into a used one",
        arguments: [(Engine.sqlite, Engine.postgres), (.postgres, .sqlite), (.memory, .postgres)])
    func copying(_ source: Engine, _ target: Engine) throws {
        let (from, to) = (try StoreFixture(source), try StoreFixture(target))
        try from.store.apply(changes())
        try from.store.commit(enqueue: (1...2100).map { try sample($0, payloadBytes: 9) }, settle: [])
        try from.store.commit(settle: [7])
        try commit(from.store, [.put(receipt(1)), .put(receipt(5, .delivered))])
        // What an interrupted copying has left.
        try commit(to.store, enqueue: [sample(7), sample(8)], [.put(receipt(7))])
        let copied = try from.store.copy(to: to.store, named: "there")
        #expect(copied.notifications == 2099)
        #expect(try to.store.loadRegistry() == from.store.loadRegistry())
        #expect(try to.store.scan().entries == from.store.scan().entries)
        #expect(try to.store.loadReceipts() == [receipt(1), receipt(5, .delivered)])
        let rows: [Int64] = [1, 1000, 1001, 2100]
        #expect(try to.store.read(rows).map(fields) == from.store.read(rows).map(fields))
        let failure = #expect(throws: StoreError.self) { try from.store.copy(to: to.store, named: "there") }
        #expect(
            failure?.kind == .conflict && failure?.description.hasPrefix("A relay has run in there") == true)
    }

    @Test("A directory is not taken over from a process that runs")
    func owned() throws {
        let fixture = try StoreFixture(.sqlite)
        let failure = #expect(throws: StoreError.self) { _ = try fixture.succeed() }
        #expect(failure?.kind == .busy)
    }
}

import PostriderNotifications
import Testing

@testable import PostriderStorage

/// Tests of the trace contexts of notifications.
extension StoreConformanceTests {
    private func context(_ number: Int, state: String? = nil) -> TraceContext? {
        TraceContext(parent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b716920333\(number)-01", state: state)
    }

    @Test("Trace contexts are kept with their notifications", arguments: Engine.allCases)
    func traceContexts(_ engine: Engine) throws {
        let fixture = try StoreFixture(engine)
        let sent = [
            try sample(1), try sample(2, traceContext: context(2)), try sample(3),
            try sample(4, traceContext: context(4, state: "a=b c,d=2")),
        ]
        try fixture.store.commit(enqueue: Array(sent[..<1]))
        try fixture.store.commit(enqueue: Array(sent[1...]))
        for _ in 1...2 {
            let read = try fixture.store.read(sent.map(\.row.value))
            #expect(
                read.map(\.notification.traceContext) == [
                    nil, context(2), nil, sent[3].notification.traceContext,
                ])
            #expect(read.map(fields) == sent.map(fields))
            try fixture.reopen()
        }
        try fixture.store.commit(settle: [2])
        #expect(try fixture.store.read([2, 4]).map(fields) == [fields(sent[3])])
        // A row that is used again after a restore has no context of before.
        try fixture.store.commit(enqueue: [try sample(2)])
        #expect(try fixture.store.read([2]).map(\.notification.traceContext) == [nil])
    }

    @Test("A file of SQLite has no trace context whose notification is settled")
    func removal() throws {
        let fixture = try StoreFixture(.sqlite)
        try fixture.store.commit(enqueue: [
            try sample(1, traceContext: context(1)), try sample(2, traceContext: context(2)), try sample(3),
        ])
        try fixture.store.commit(settle: [1, 3])
        try fixture.reopen()
        try fixture.store.commit(enqueue: [try sample(4, traceContext: context(4))], settle: [2])
        fixture.store.close()
        let file = try QueueFile(path: fixture.directory.store + "/queue.sqlite")
        #expect(try file.database.number("SELECT sum(row) FROM trace_context") == 4)
    }
}

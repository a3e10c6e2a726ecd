import DatabaseFixtures
import Foundation
import PostriderCluster
import PostriderNotifications
import PostriderStorage
import Synchronization
import Testing

@testable import PostriderPostgres

/// The behaviour of a cluster's database in PostgreSQL beyond that of every such database.
@Suite struct PostgresClusterTests {
    private func place(_ fixture: ClusterFixture, node: String) throws -> DatabasePlace {
        DatabasePlace(
            address: try #require(DatabaseAddress(fixture.database)), node: node, acceptsLosses: true)
    }

    private func failure(_ kind: StoreError.Kind, _ text: String = ".", _ body: () throws -> Void) {
        let error = #expect(throws: StoreError.self) { try body() }
        #expect(
            error?.kind == kind && error?.description.contains(text) == true, "\(String(describing: error))")
    }

    @Test("Whoever takes over waits for a commit under way, and heartbeats do not")
    func commitUnderWay() throws {
        let fixture = try ClusterFixture(.postgres)
        let (a, b) = (try fixture.member("a", claiming: [5]), try fixture.member("b"))
        let open = try place(fixture, node: "a").open(log: .none).connection
        _ = try open.run([Request("BEGIN"), Request("SELECT 1 FROM node WHERE name = 'a' FOR SHARE")])
        _ = try a.beat(1, isDraining: false)
        failure(.unreachable) { try b.declareDead(b.node("a")) }
        failure(.unreachable) { try a.release([5]) }
        #expect(try b.partitions(of: "a") == [5])
        _ = try b.beat(1, isDraining: false)
        _ = try open.run([Request("COMMIT")])
        try b.declareDead(b.node("a"), claiming: [5])
        #expect(try b.partitions(of: "b") == [5])
    }

    @Test("What an earlier connection has sent has no effect after the next call")
    func lateRequests() throws {
        let fixture = try ClusterFixture(.postgres)
        let node = try #require(try fixture.member("a", claiming: [1, 2]) as? PostgresClusterStore)
        let early = node.statements
        node.close()
        _ = try node.beat(1, isDraining: false)
        var release = ClusterChange()
        release.released = [Partition(1)]
        let late = try place(fixture, node: "a").open(log: .none).connection
        for requests in [early.change(release), early.beat(9, isDraining: true)] {
            let error = #expect(throws: PostgresFailure.self) { try late.transaction(requests) }
            #expect(error?.state == "22012")
        }
        try late.transaction(early.leave)
        #expect(try node.partitions(of: "a") == [1, 2] && node.node("a")?.beat == 1)
        _ = try node.beat(2, isDraining: false)
    }

    @Test(
        "A relay alone is refused while nodes are alive, and takes the database when they are not"
    )
    func lonelyRelay() throws {
        let fixture = try ClusterFixture(.postgres)
        let node = try fixture.member("a", claiming: [1])
        let ledger = try fixture.ledger(of: node)
        try ledger.commit(enqueue: [sample(1, in: 1)])
        let watcher = try place(fixture, node: "a").open(log: .none).connection
        let isRefused = Atomic(false)
        let ended = DispatchSemaphore(value: 0)
        let database = fixture.database
        Thread.detachNewThread {
            // The node is alive.
            let server = try? DatabaseServer.shared.get()
            while !isRefused.load(ordering: .acquiring) {
                _ = try? server?.run("UPDATE postrider.member SET beat = beat + 1", at: database)
            }
            ended.signal()
        }
        failure(.busy, "whose node 'a' is running: end its nodes first") {
            _ = try PostgresStore(place(fixture, node: "postrider"), log: .none)
        }
        isRefused.store(true, ordering: .releasing)
        ended.wait()
        let alone = try PostgresStore(place(fixture, node: "postrider"), log: .none)
        #expect(try alone.rows() == [1])
        failure(.fenced) { try ledger.commit(enqueue: [sample(2, in: 1)]) }
        failure(.fenced) { _ = try node.beat(.max, isDraining: false) }
        try alone.commit(settle: [1])
        // A node that joins takes the database from it.
        #expect(try node.join(replacing: nil))
        failure(.fenced) { try alone.commit(enqueue: [sample(3, in: 1)]) }
        #expect(
            try watcher.run([Request("SELECT name FROM node")]).flatMap(\.rows).map { $0.text(0) } == ["a"])
    }

    @Test("A cluster with another number of partitions is refused")
    func otherPartitions() throws {
        let fixture = try ClusterFixture(.postgres)
        try fixture.access("a").close()
        try DatabaseServer.shared.get().run(
            "DELETE FROM postrider.placement WHERE number >= 512", at: fixture.database)
        failure(.unusable, "has 512 partitions, and this program 1024") { _ = try fixture.access("a") }
    }

    @Test("A database of before there were clusters is upgraded with what it holds")
    func upgrade() throws {
        let fixture = try ClusterFixture(.postgres)
        let server = try DatabaseServer.shared.get()
        let old = try PostgresStore(place(fixture, node: "postrider"), log: .none)
        try old.commit(enqueue: [sample(1, in: 7)])
        old.close()
        let before = try #require(
            PostgresSchema.steps.firstIndex { $0.contains { $0.contains("TABLE member") } })
        try server.run(
            """
            SET search_path = postrider;
            DROP TABLE member, placement, registry_version;
            UPDATE cluster SET schema_version = \(before);
            """, at: fixture.database)
        // Steps after that one are made again as well.
        for step in PostgresSchema.steps[(before + 1)...].joined() {
            let words = step.split(whereSeparator: \.isWhitespace)
            switch words.prefix(2).joined(separator: " ") {
            case "CREATE TABLE": try server.run("DROP TABLE postrider.\(words[2])", at: fixture.database)
            case "ALTER TABLE":
                try #require(words[3...4].joined(separator: " ") == "ADD COLUMN")
                let change = "ALTER TABLE IF EXISTS postrider.\(words[2]) DROP COLUMN \(words[5])"
                try server.run(change, at: fixture.database)
            default: Issue.record("This test cannot undo: \(step)")
            }
        }
        let node = try fixture.member("a", claiming: [7])
        var rows: [Int64] = []
        _ = try fixture.ledger(of: node).load([Partition(7)]) { rows.append($0.row.value) }
        #expect(rows == [1])
        // Without nodes there are no indexes for them, which each push would pay for.
        let alone = try ClusterFixture(.postgres)
        try PostgresStore(place(alone, node: "postrider"), log: .none).close()
        let count = "SELECT count(*) FROM pg_indexes WHERE indexname LIKE '%_partition'"
        #expect(try server.run(count, at: alone.database) == "0\n")
        #expect(try server.run(count, at: fixture.database) == "6\n")
    }

    @Test("Nodes that start at the same time on an empty database come to the same first token secret")
    func firstSecret() throws {
        let fixture = try ClusterFixture(.postgres)
        let claims = try ["a", "b", "c"].map { try fixture.member($0).claim }
        let address = try fixture.place()
        let found = Mutex<[[[UInt8]]]>([])
        DispatchQueue.concurrentPerform(iterations: claims.count) { number in
            let store = try? PostgresPartitionStore(
                address, of: claims[number], acceptsLosses: true, log: .none)
            store?.addFirstTokenSecret([UInt8(number)]) { result in
                found.withLock { $0.append((try? result.get()) ?? []) }
            }
        }
        let secrets = found.withLock { $0 }
        #expect(secrets.count == 3 && Set(secrets).count == 1 && secrets.first?.count == 1, "\(secrets)")
    }

    @Test("A ledger's store is not opened with the claim of a membership that is over")
    func staleClaim() throws {
        let fixture = try ClusterFixture(.postgres)
        let node = try fixture.member("a", claiming: [1])
        let stale = node.claim
        try node.leave()
        #expect(try node.join(replacing: nil))
        failure(.fenced) {
            _ = try PostgresPartitionStore(fixture.place(), of: stale, acceptsLosses: true, log: .none)
        }
        _ = try fixture.ledger(of: node)
    }

    @Test("A commit has the fence, a removal and an addition; that of a node one comparison more")
    func cost() throws {
        var batch = QueueBatch()
        batch.enqueued = [try sample(1, in: 1), try sample(2, in: 2)]
        batch.settled = [QueueRow(3)]
        #expect(QueueStatements.changes(of: batch).map(\.name) == ["delete", "insert"])
        let checked = PartitionChecks(node: "a").changes(of: batch).map(\.name)
        #expect(checked == ["owns", "deleteOwn", "insert"])
    }
}

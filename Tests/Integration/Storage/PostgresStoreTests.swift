import DatabaseFixtures
import Foundation
import PostriderNotifications
import PostriderStorage
import Testing

@testable import PostriderPostgres

/// The behaviour of the store in PostgreSQL beyond that of every store.
@Suite struct PostgresStoreTests {
    private func server() throws -> DatabaseServer { try DatabaseServer.shared.get() }

    private func place(
        _ database: String, patience: CInt = 10_000, acceptsLosses: Bool = true
    ) throws -> DatabasePlace {
        var place = DatabasePlace(
            address: try #require(DatabaseAddress(database)), node: "a", acceptsLosses: acceptsLosses)
        place.patience = patience
        place.pauses = (.zero, .zero)
        return place
    }

    private func refusal(_ database: String, acceptsLosses: Bool = true) throws -> StoreError {
        let place = try place(database, acceptsLosses: acceptsLosses)
        return try #require(
            #expect(throws: StoreError.self) { try PostgresStore(place, log: .none) })
    }

    @Test("Says in one sentence why no connection can be made, without the password")
    func connecting() throws {
        let server = try server()
        let folder = server.socketFolder.replacing("/", with: "%2F")
        let away = try refusal("postgresql://me:hush@127.0.0.1:1/db?connect_timeout=2")
        #expect(away.kind == .unreachable)
        #expect(away.description.hasPrefix("The database me@127.0.0.1:1/db cannot be reached ("))
        let missing = try refusal("postgresql://postgres:hush@/nothing?host=\(folder)")
        #expect(missing.description.contains("/nothing does not let the relay in ("))
        let stranger = try refusal("postgresql://nobody:hush@/postgres?host=\(folder)")
        #expect(stranger.description.contains("does not let the relay in ("))
        for error in [away, missing, stranger] {
            #expect(!error.description.contains("hush") && error.description.hasSuffix("."))
        }
    }

    @Test("A database that may lose what it has committed is refused, unless that is accepted")
    func promise() throws {
        let database = try server().makeDatabase()
        let error = try refusal(database, acceptsLosses: false)
        #expect(error.kind == .unusable)
        #expect(error.description.contains("may lose what it has committed (fsync is off): change that"))
        #expect(try PostgresStore(place(database), log: .none).isLossy)
    }

    @Test("The settings that keep the promise are told from those that do not")
    func settings() {
        let kept = ["fsync": "on", "full_page_writes": "on", "synchronous_commit": "on"]
        #expect(DurabilityPromise(kept).gaps.isEmpty)
        #expect(DurabilityPromise([:]).gaps.isEmpty)
        let changes: [([String: String], Int)] = [
            (["fsync": "off"], 1), (["full_page_writes": "off", "synchronous_commit": "off"], 2),
            (["synchronous_commit": "remote_apply"], 0), (["synchronous_commit": "local"], 0),
            (["synchronous_commit": "local", "synchronous_standby_names": "b"], 1),
        ]
        for (changed, gaps) in changes {
            #expect(DurabilityPromise(kept.merging(changed) { $1 }).gaps.count == gaps)
        }
    }

    @Test("Tables of a newer version are refused and left as they are")
    func newer() throws {
        let (server, database) = (try server(), try server().makeDatabase())
        try PostgresStore(place(database), log: .none).close()
        try server.run("UPDATE postrider.cluster SET schema_version = 99", at: database)
        let before = try server.run("SELECT * FROM postrider.cluster, postrider.node", at: database)
        let error = try refusal(database)
        #expect(error.kind == .unusable)
        #expect(error.description.contains("was written by a newer version (its schema is 99, this program"))
        #expect(try server.run("SELECT * FROM postrider.cluster, postrider.node", at: database) == before)
    }

    @Test("A connection that the server has ended is made again within the call")
    func ended() throws {
        let (server, database) = (try server(), try server().makeDatabase())
        let store = try PostgresStore(place(database), log: .none)
        try store.commit(enqueue: [sample(1)])
        let endAll = """
            SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
            WHERE datname = current_database() AND pid <> pg_backend_pid()
            """
        try server.run(endAll, at: database)
        try store.commit(enqueue: [sample(2)])
        try server.run(endAll, at: database)
        #expect(try store.read([1, 2]).count == 2)
        try server.run(endAll, at: database)
        try store.apply([.addTokenSecret([7])])
        #expect(try store.loadRegistry().tokenSecrets == [[7]])
    }

    @Test("A killed server makes changes fail, and the store goes on when it is back")
    func killed() throws {
        let server = try DatabaseServer()
        let store = try PostgresStore(
            place(server.makeDatabase(), acceptsLosses: false), log: .none)
        try store.commit(enqueue: [sample(1), sample(2)])
        server.stop(with: "KILL")
        for number in 3...5 {
            let error = #expect(throws: StoreError.self) {
                try store.commit(enqueue: [sample(Int64(number))], settle: [1])
            }
            #expect(error?.kind == .inputOutput || error?.kind == .unreachable)
        }
        try server.start()
        #expect(try store.rows() == [1, 2])
        try store.commit(enqueue: [sample(6)], settle: [1])
        #expect(try store.rows() == [2, 6])
        #expect(!store.isLossy)
    }

    @Test("A refused batch that the server commits late is removed again")
    func late() throws {
        let database = try server().makeDatabase()
        let place = try place(database, patience: 200)
        let store = try PostgresStore(place, log: .none)
        try store.commit(enqueue: [sample(1)])
        let blocker = try place.open(log: .none).connection
        _ = try blocker.run(["BEGIN", "LOCK TABLE queue IN SHARE MODE"].map { Request($0) })
        let error = #expect(throws: StoreError.self) { try store.commit(enqueue: [sample(2)], settle: [1]) }
        #expect(error?.kind == .inputOutput)
        // The server goes on with what it has received.
        _ = try blocker.run([Request("ROLLBACK")])
        var committed = false
        while !committed { committed = (try? store.commit(enqueue: [sample(3)])) != nil }
        #expect(try store.rows().contains(2) == false)
        #expect(try store.rows().last == 3)
    }

    @Test("A commit for which a standby is not waited for any more is no success")
    func unreplicated() throws {
        let server = try DatabaseServer(settings: ["fsync=off"])
        let database = try server.makeDatabase()
        let store = try PostgresStore(place(database), log: .none)
        try store.commit(enqueue: [sample(1)])
        try server.run("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
        try server.run("SELECT pg_reload_conf()")
        while try server.run("SHOW synchronous_standby_names") != "nobody\n" {}
        let ended = DispatchSemaphore(value: 0)
        DispatchQueue.global().async {
            let cancel = "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
            while (try? server.run(cancel)) == "" {}
            // Others may commit again.
            _ = try? server.run(
                "SET synchronous_commit = local; ALTER SYSTEM RESET synchronous_standby_names")
            _ = try? server.run("SELECT pg_reload_conf()")
            ended.signal()
        }
        let connection = try place(database).open(log: .none).connection
        let failure = #expect(throws: PostgresFailure.self) {
            try connection.transaction([Request("INSERT INTO token_secret VALUES (1, '')")])
        }
        #expect(failure?.isLost == true && failure?.message.contains("synchronous replication") == true)
        ended.wait()
        try store.commit(enqueue: [sample(2)])
        #expect(try store.rows() == [1, 2])
    }

    @Test("A copy is refused with the name of the tools that make one")
    func snapshot() throws {
        let store = try PostgresStore(place(server().makeDatabase()), log: .none)
        let error = #expect(throws: StoreError.self) { _ = try store.snapshot() }
        #expect(error?.description.contains("pg_basebackup") == true)
    }

    @Test("An address shows user, hosts and database, and never a password")
    func addresses() throws {
        let shown = [
            "postgresql://me:hush@a,b:5433/db?sslmode=require": "me@a,b:5433/db",
            "postgres://db.example:6432/x": "db.example:6432/x",
            "postgresql:///x?host=%2Frun%2Fpg&password=hush": "/run/pg/x",
            "postgresql://": "this machine",
        ]
        for (text, description) in shown {
            let address = try #require(DatabaseAddress(text))
            #expect("\(address)" == description && !String(reflecting: address).contains("hush"))
        }
        for text in ["", "host=a dbname=b", "mysql://a", "postgresql://a:b:c@[", "postgresql://a?nothing=1"] {
            #expect(DatabaseAddress(text) == nil, "\(text)")
        }
    }
}

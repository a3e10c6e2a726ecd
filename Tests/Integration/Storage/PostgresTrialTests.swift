import DatabaseFixtures
import Foundation
import PostriderNotifications
import Testing

@testable import PostriderPostgres

/// What a store in PostgreSQL says about servers that are not as it needs them, and how it goes on.
@Suite struct PostgresTrialTests {
    private func open(_ address: String) throws -> PostgresStore {
        var place = DatabasePlace(
            address: try #require(DatabaseAddress(address)), node: "a", acceptsLosses: true)
        place.pauses = (.zero, .zero)
        return try PostgresStore(place, log: .none)
    }

    /// The sentence with which a database is refused.
    private func refusal(_ address: String) throws -> String {
        let error = #expect(throws: StoreError.self) { _ = try open(address) }
        #expect(error?.kind == .unreachable)
        return error?.description ?? ""
    }

    @Test("TLS, the name in the certificate and the password are checked, and each has its sentence")
    func tls() throws {
        let server = try DatabaseServer(settings: ["fsync=off"], hasTLS: true)
        try server.run("CREATE ROLE postrider LOGIN PASSWORD 'right'; CREATE DATABASE p OWNER postrider")
        func address(_ options: String, password: String = "right") -> String {
            server.address(of: "p", user: "postrider", password: password, options: options)
        }
        let verified = "sslmode=verify-full&sslrootcert=\(server.folder)/ca.pem"
        let store = try open(address(verified))
        try store.commit(enqueue: [sample(1)])
        #expect(try store.rows() == [1])
        let password = try refusal(address(verified, password: "hush"))
        #expect(password.contains("does not let the relay in ("))
        #expect(password.contains("password authentication failed"))
        let stranger = try refusal(address("sslmode=verify-full&sslrootcert=\(server.folder)/other.pem"))
        #expect(stranger.contains("does not prove by a certificate that it is the right one ("))
        let missing = try refusal(address("sslmode=verify-full&sslrootcert=/nowhere.pem"))
        #expect(missing.contains("does not prove by a certificate"))
        // The certificate is for the address, and not for the name.
        let name = try refusal(address(verified).replacing("127.0.0.1", with: "localhost"))
        #expect(name.contains("does not prove by a certificate"))
        for sentence in [password, stranger, missing, name] {
            #expect(sentence.hasSuffix(".") && !sentence.contains("hush") && !sentence.contains("right@"))
        }
        #expect(try refusal(address("sslmode=disable")).contains("does not let the relay in ("))
    }

    @Test("A standby is refused, and of several hosts the one that accepts changes is used")
    func standby() throws {
        let primary = try DatabaseServer(settings: ["fsync=off"])
        let database = try primary.makeDatabase()
        let standby = try DatabaseServer(settings: ["fsync=off"], standbyOf: primary)
        let name = String(try #require(database.split(separator: "/").last?.split(separator: "?").first))
        let sentence = try refusal(standby.address(of: name))
        #expect(sentence.contains("is a standby that can only be read ("))
        let both =
            "postgresql://postgres@/\(name)?host="
            + [standby, primary].map { $0.socketFolder.replacing("/", with: "%2F") }.joined(separator: ",")
        let store = try open(both)
        try store.commit(enqueue: [sample(1)])
        // The rows are read where they were written; the standby has them as well, as soon as it has followed.
        try primary.run("ALTER SYSTEM SET synchronous_standby_names = '*'")
        try primary.run("SELECT pg_reload_conf()")
        while try primary.run("SELECT sync_state FROM pg_stat_replication") != "sync\n" {}
        try store.commit(enqueue: [sample(2)])
        primary.stop(with: "KILL")
        #expect(throws: StoreError.self) { try store.commit(enqueue: [sample(3)]) }
        try standby.run("SELECT pg_promote()")
        try store.commit(enqueue: [sample(4)])
        #expect(try store.rows() == [1, 2, 4])
    }

    @Test("A server without space and one that ends statements refuse a batch each, and nothing else")
    func refusals() throws {
        let server = try DatabaseServer.shared.get()
        let database = try server.makeDatabase()
        let store = try open(database)
        try store.commit(enqueue: [sample(1)])
        // The code is what a server says when it cannot make a file longer; a table that fails with it needs no disk.
        let codes: [(code: String, kind: StoreError.Kind, text: String)] = [
            ("53100", .full, "No space is left on the disk of the database"),
            ("57014", .unreachable, "ended a statement before its end"),
            ("53200", .unreachable, "accepts no changes now"), ("25006", .unreachable, "is a standby that"),
        ]
        for (index, (code, kind, text)) in codes.enumerated() {
            try server.run(
                """
                SET search_path = postrider;
                CREATE OR REPLACE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS
                $$ BEGIN RAISE EXCEPTION 'so it is' USING ERRCODE = '\(code)'; END $$;
                CREATE OR REPLACE TRIGGER fail BEFORE INSERT ON queue EXECUTE FUNCTION fail();
                """, at: database)
            let error = #expect(throws: StoreError.self) {
                try store.commit(enqueue: [sample(9)], settle: [1])
            }
            #expect(error?.kind == kind && error?.description.contains(text) == true)
            #expect(error?.description.hasSuffix(".") == true)
            try server.run("DROP TRIGGER fail ON postrider.queue", at: database)
            try store.commit(enqueue: [sample(Int64(10 + index))])
        }
        #expect(try store.rows() == [1, 10, 11, 12, 13])
    }

    @Test("A statement that the server's operator cancels is refused, and the next one succeeds")
    func cancelled() throws {
        let server = try DatabaseServer.shared.get()
        let database = try server.makeDatabase()
        let store = try open(database)
        let blocker = try DatabasePlace(
            address: try #require(DatabaseAddress(database)), node: "b", acceptsLosses: true
        ).open(log: .none).connection
        _ = try blocker.run(["BEGIN", "LOCK TABLE queue IN SHARE MODE"].map { Request($0) })
        let ended = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            let cancel = """
                SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity
                WHERE datname = current_database() AND wait_event_type = 'Lock'
                """
            while (try? server.run(cancel, at: database)) == "0\n" {}
            ended.signal()
        }
        let error = #expect(throws: StoreError.self) { try store.commit(enqueue: [sample(1)]) }
        #expect(error?.description.contains("ended a statement before its end (57014: ") == true)
        ended.wait()
        _ = try blocker.run([Request("ROLLBACK")])
        try store.commit(enqueue: [sample(2)])
        #expect(try store.rows() == [2])
    }
}

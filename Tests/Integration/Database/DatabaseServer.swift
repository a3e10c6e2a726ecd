import Foundation
import ProgramFixtures
import Synchronization

/// A PostgreSQL server of a test's own, in a folder that is removed at the end, on a Unix socket only. It ends with the
/// test process, even if that is killed. Servers and databases are used for one test only.
public final class DatabaseServer: Sendable {
    /// The server that tests share; each makes databases of its own in it.
    public static let shared = Result { try DatabaseServer(settings: ["fsync=off"]) }

    /// The folder of the socket.
    public let socketFolder: String
    /// The folder of the server and of its certificates.
    public let folder: String
    private let port: Int
    private let settings: [String]
    /// What comes before the server's program.
    private let surroundings: String
    private let keeper = Mutex<ChildProgram?>(nil)

    /// A failure to start the server, with what it said.
    public struct Failure: Error, CustomStringConvertible {
        /// What it said.
        public let description: String
    }

    /// The shell that holds the server, and its input; when that is closed, the server ends.
    private static let programs = "/usr/lib/postgresql/15/bin"

    /// Makes a server and starts it.
    ///
    /// - Parameters:
    ///   - settings: lines of its configuration, such as `fsync=off`.
    ///   - primary: the server whose standby it is, with a copy of what that one has; nil for a new server.
    ///   - hasTLS: whether it also listens on 127.0.0.1, with a certificate for this address, and asks there for
    ///     passwords.
    ///   - hasNetwork: whether it is in a network namespace of its own, where it listens on all addresses, and lets
    ///     everybody in. Only root can make one.
    public init(
        settings: [String] = [], standbyOf primary: DatabaseServer? = nil, hasTLS: Bool = false,
        hasNetwork: Bool = false
    ) throws {
        folder = FileManager.default.temporaryDirectory.path + "/pg-" + UUID().uuidString.prefix(8)
        socketFolder = folder
        port = hasTLS ? Int.random(in: 20_000..<30_000) : 5432
        let tls = [
            "listen_addresses=127.0.0.1", "ssl=on", "ssl_cert_file=\(folder)/server.pem",
            "ssl_key_file=\(folder)/server.key",
        ]
        self.settings =
            settings + ["port=\(port)"] + (hasTLS ? tls : []) + (hasNetwork ? ["listen_addresses=*"] : [])
        surroundings = (hasNetwork ? "unshare --net " : "") + Self.asUser
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        if getuid() == 0 { _ = try Self.output("chown postgres \(folder) && chmod 755 \(folder)") }
        let data = "--pgdata=\(folder)/data --username=postgres --no-sync"
        if let primary {
            _ = try Self.output(
                "\(Self.asUser) \(Self.programs)/pg_basebackup \(data) --host=\(primary.socketFolder) "
                    + "--write-recovery-conf --wal-method=stream --checkpoint=fast")
        } else {
            _ = try Self.output(
                "\(Self.asUser) \(Self.programs)/initdb \(data) --encoding=UTF8 --locale=C --auth=trust")
        }
        if hasTLS { try makeCertificates() }
        if hasNetwork {
            _ = try Self.output("echo 'host all all 10.0.0.0/8 trust' >>\(folder)/data/pg_hba.conf")
        }
        try start()
    }

    deinit {
        stop(with: "INT")
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// Makes an authority (`ca.pem`), the server's certificate, and an authority that has nothing to do with it
    /// (`other.pem`).
    private func makeCertificates() throws {
        func authority(_ name: String) -> String {
            """
            openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=\(name) \
                -keyout \(folder)/\(name).key -out \(folder)/\(name).pem
            """
        }
        _ = try Self.output(
            """
            set -e
            \(authority("ca"))
            \(authority("other"))
            openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=database \
                -keyout \(folder)/server.key -out \(folder)/server.csr
            echo subjectAltName=IP:127.0.0.1 > \(folder)/names
            openssl x509 -req -in \(folder)/server.csr -CA \(folder)/ca.pem -CAkey \(folder)/ca.key \
                -CAcreateserial -days 2 -extfile \(folder)/names -out \(folder)/server.pem
            chmod 600 \(folder)/server.key
            [ $(id -u) != 0 ] || chown postgres \(folder)/server.key \(folder)/server.pem
            printf 'local all all trust\\nhostssl all all 127.0.0.1/32 scram-sha-256\\n' \\
                >\(folder)/data/pg_hba.conf
            """)
    }

    /// The address of the server's other listener, for passwords and TLS.
    public func address(of database: String, user: String, password: String, options: String) -> String {
        "postgresql://\(user):\(password)@127.0.0.1:\(port)/\(database)?\(options)"
    }

    /// A PostgreSQL server refuses to run as root.
    private static var asUser: String {
        getuid() == 0 ? "setpriv --reuid=postgres --regid=postgres --clear-groups" : ""
    }

    /// Starts the server after it was stopped or killed, and waits until it answers.
    public func start() throws {
        let options = (["listen_addresses=", "unix_socket_directories=\(folder)"] + settings)
            .map { "-c \"\($0)\"" }.joined(separator: " ")
        // 'read' returns when the test process is gone.
        let program = try ChildProgram(
            "/bin/sh",
            [
                "-c",
                """
                \(surroundings) \(Self.programs)/postgres -D \(folder)/data \(options) \\
                    >>\(folder)/log 2>&1 </dev/null &
                server=$!
                echo $server >\(folder)/pid
                read -r end
                kill -QUIT $server 2>/dev/null
                wait $server
                [ "$end" = keep ] || rm -rf \(folder)
                """,
            ], input: .pipe, output: .nothing, errors: .nothing)
        keeper.withLock { $0 = program }
        for _ in 0..<600 {
            if (try? run("SELECT 1")) != nil { return }
            usleep(50_000)
        }
        let log = (try? String(contentsOfFile: folder + "/log", encoding: .utf8)) ?? ""
        throw Failure(description: "the server did not start: \(log.suffix(2000))")
    }

    /// Ends the server with a signal: `KILL` as a crash does, `INT` in order. When this returns, it is gone.
    public func stop(with signal: String) {
        let held = keeper.withLock { keeper in
            defer { keeper = nil }
            return keeper
        }
        guard let held else { return }
        let processes = "$(cat \(folder)/pid) $(pgrep -P $(cat \(folder)/pid))"
        _ = try? Self.output(
            """
            all="\(processes)"; kill -\(signal) \(signal == "KILL" ? "$all" : "$(cat \(folder)/pid)")
            for one in $all; do while grep -qs '^State:.[^ZX]' /proc/$one/status; do sleep 0.01; done; done
            """)
        held.write("keep\n")
        held.closeInput()
        held.waitUntilExit()
    }

    /// The number of the server's process.
    public var processIdentifier: String {
        get throws { try Self.output("cat \(folder)/pid").trimmingCharacters(in: .newlines) }
    }

    /// Makes an empty database and returns its connection string.
    public func makeDatabase() throws -> String {
        let name = "test_" + UUID().uuidString.lowercased().replacing("-", with: "_")
        try run("CREATE DATABASE \(name)")
        return address(of: name)
    }

    /// Makes a server with a database, and a standby to which each of its commits goes first.
    ///
    /// - Returns: both servers, and the connection string of the database, which names both.
    public static func makePair() throws -> (
        primary: DatabaseServer, standby: DatabaseServer, address: String
    ) {
        let primary = try DatabaseServer()
        let database = try primary.makeDatabase()
        let standby = try DatabaseServer(standbyOf: primary)
        try primary.run("ALTER SYSTEM SET synchronous_standby_names = '*'")
        try primary.run("SELECT pg_reload_conf()")
        while try primary.run("SELECT sync_state FROM pg_stat_replication") != "sync\n" {}
        return (primary, standby, database + "," + standby.socketFolder.replacing("/", with: "%2F"))
    }

    /// The connection string of a database.
    public func address(of database: String, user: String = "postgres") -> String {
        "postgresql://\(user)@/\(database)?port=\(port)&host=" + socketFolder.replacing("/", with: "%2F")
    }

    /// Runs SQL as the superuser, and returns what `psql` prints.
    @discardableResult
    public func run(_ sql: String, in database: String = "postgres") throws -> String {
        try Self.output(
            "psql -X -q -A -t -v ON_ERROR_STOP=1 '\(address(of: database))' 2>&1 <<'END'\n\(sql)\nEND")
    }

    /// Runs SQL as the superuser in the database of a connection string.
    @discardableResult
    public func run(_ sql: String, at address: String) throws -> String {
        let name = address.split(separator: "/").last?.split(separator: "?").first ?? ""
        return try run(sql, in: String(name))
    }

    private static func output(_ command: String) throws -> String {
        let (exitCode, text) = try ChildProgram.run("/bin/sh", ["-c", command])
        guard exitCode == 0 else { throw Failure(description: text) }
        return text
    }
}

import FoundationEssentials
import Glibc
import PostriderCommands
import PostriderNotifications
import PostriderPostgres
import PostriderSystem
import PostriderTransport

/// The PostgreSQL server of `postrider dev --nodes`, in a folder, and on a Unix socket only.
struct DevDatabase {
    /// The connection string.
    let text: String
    private let address: DatabaseAddress
    private let program: DevProgram

    /// The name of the server in messages.
    static let name = "The PostgreSQL server"
    /// The bytes of the longest path of a Unix socket (unix(7)).
    private static let mostPathBytes = 107
    private static let startSeconds = 60

    /// Starts a server, and makes its files if they are missing. It answers when this returns.
    static func start(in folder: DevFolder, _ events: DevEvents) async throws -> DevDatabase {
        let programs = try programs()
        let account = try account()
        let place = folder.path + "/database"
        guard "\(place)/.s.PGSQL.5432".utf8.count <= mostPathBytes else {
            throw CommandFailure(
                "The path of the folder \(folder.path) is too long for the database's Unix socket: name a "
                    + "shorter one with --directory.", exitCode: 2)
        }
        let text = "postgresql://postgres@/postgres?host=\(place.percentEncoded)&port=5432"
        guard let address = DatabaseAddress(text) else {
            preconditionFailure("everything is percent-encoded that must be")
        }
        try FileText.makeDirectory(place, advice: "name another one with --directory")
        if let account { try give(place, in: folder, to: account) }
        try await makeFiles(in: place, programs, account)
        let program = try await DevProgram.start(
            programs + "/postgres",
            [
                "-D", place + "/data", "-c", "listen_addresses=", "-c", "port=5432",
                "-c", "unix_socket_directories=\"\(place)\"", "-c", "log_min_messages=fatal",
            ], as: account, endedBy: .interrupt
        ) { events.add(.ended(name, $0)) }
        let database = DevDatabase(text: text, address: address, program: program)
        do {
            try await events.wait(for: "the database answers", seconds: startSeconds) {
                isReady(place + "/data")
            }
            try PostgresStore.probe(address)
        } catch {
            await program.stop()
            throw error
        }
        return database
    }

    /// Whether the server of this data directory says in its file that it takes connections, as pg_ctl asks it.
    private static func isReady(_ data: String) -> Bool {
        let text = try? FileText.readIfThere(data + "/postmaster.pid")
        let lines = text?.split(separator: "\n", omittingEmptySubsequences: false) ?? []
        return lines.count > 7 && lines[7].trimmed == "ready"
    }

    /// Makes these changes to what all nodes have, while no node runs.
    func apply(_ changes: [RegistryChange], log: Log) throws {
        let store = try PostgresStore(address, log: log)
        defer { store.close() }
        var outcome: Result<Void, StoreError> = .success(())
        store.apply(changes) { outcome = $0 }
        try outcome.get()
    }

    func stop() async { await program.stop() }

    /// The folder of the programs of a PostgreSQL server: in `PATH`, or where Debian has it, the newest version.
    private static func programs() throws(CommandFailure) -> String {
        let all = "/usr/lib/postgresql"
        let versions = (try? FileManager.default.contentsOfDirectory(atPath: all)) ?? []
        let folders =
            (ProgramStart.ownEnvironment["PATH"] ?? "").split(separator: ":").map(String.init)
            + versions.sorted { (Int($0) ?? 0) > (Int($1) ?? 0) }.map { "\(all)/\($0)/bin" }
        let found = folders.first { folder in
            ["initdb", "postgres"].allSatisfy {
                FileManager.default.isExecutableFile(atPath: "\(folder)/\($0)")
            }
        }
        if let found { return found }
        throw CommandFailure(
            "--nodes needs a PostgreSQL server, and initdb and postgres are neither in PATH nor in \(all): "
                + "install it (on Debian the package postgresql), or leave --nodes out.", exitCode: 2)
    }

    /// The account of the server if this process is root, as which PostgreSQL does not run; nil for its own.
    private static func account() throws(CommandFailure) -> DevProgram.Account? {
        guard geteuid() == 0 else { return nil }
        guard let user = UserAccount.identifier(of: "postgres"), let entry = UserAccount.entry(of: user)
        else {
            throw CommandFailure(
                "PostgreSQL does not run as root, and there is no account postgres: run this as another "
                    + "user.",
                exitCode: 2)
        }
        return DevProgram.Account(user: user, group: entry.group)
    }

    /// Lets the account use its part of the folder. The other files there are for their owner only.
    private static func give(
        _ place: String, in folder: DevFolder, to account: DevProgram.Account
    ) throws {
        try FileManager.default.setAttributes(
            [.ownerAccountID: Int(account.user), .groupOwnerAccountID: Int(account.group)],
            ofItemAtPath: place)
        try FileManager.default.setAttributes([.posixPermissions: 0o711], ofItemAtPath: folder.path)
    }

    /// Makes the files of the server where they are missing. What an interrupted start has left is removed.
    private static func makeFiles(
        in place: String, _ programs: String, _ account: DevProgram.Account?
    ) async throws {
        let (data, new) = (place + "/data", place + "/new")
        guard !FileManager.default.fileExists(atPath: data) else { return }
        try? FileManager.default.removeItem(atPath: new)
        let ending = try await DevProgram.run(
            programs + "/initdb",
            [
                "--pgdata=\(new)", "--username=postgres", "--encoding=UTF8", "--locale=C", "--auth=trust",
            ], as: account)
        guard ending == .exited(0) else {
            let advice =
                account == nil
                ? "name another folder with --directory"
                : "as root it runs as the account postgres, which must reach the folder: give --temporary, "
                    + "or name another one with --directory"
            throw CommandFailure(
                "The database in \(place) cannot be made, and what initdb said stands above: \(advice).")
        }
        try FileManager.default.moveItem(atPath: new, toPath: data)
    }
}

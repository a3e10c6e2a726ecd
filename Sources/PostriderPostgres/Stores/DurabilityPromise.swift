import PostriderNotifications

/// Whether a server keeps what it has committed through a power failure, as a 200 of the relay promises.
struct DurabilityPromise {
    /// What the server does not keep, each as a part of a sentence; empty if it keeps everything.
    let gaps: [String]

    private static let names = [
        "fsync", "full_page_writes", "synchronous_commit", "synchronous_standby_names",
    ]

    /// Reads the server's settings. Engines that have none of them, such as CockroachDB, always sync.
    init(of connection: PostgresConnection) throws(PostgresFailure) {
        let rows = try connection.run([
            Request("SELECT name, setting FROM pg_settings WHERE name = ANY($1)") {
                $0.add(Self.names.map(Optional.some))
            }
        ]).flatMap(\.rows)
        var settings: [String: String] = [:]
        for row in rows { settings[row.text(0)] = row.text(1) }
        self.init(settings)
    }

    /// Judges settings by their names.
    init(_ settings: [String: String]) {
        var gaps: [String] = []
        for name in ["fsync", "full_page_writes", "synchronous_commit"] where settings[name] == "off" {
            gaps.append("\(name) is off")
        }
        let hasStandbys = settings["synchronous_standby_names"].map { !$0.isEmpty } ?? false
        if hasStandbys, settings["synchronous_commit"] == "local" {
            gaps.append("synchronous_commit is local, which does not wait for the synchronous standbys")
        }
        self.gaps = gaps
    }

    /// The error for a server at this address that does not keep the promise.
    func refusal(at address: DatabaseAddress) -> StoreError {
        StoreError(
            .unusable,
            "The database \(address) may lose what it has committed (\(gaps.joined(separator: "; "))): "
                + "change that on its server, or accept it with 'accept-unsafe-database: true'.")
    }
}

import PostriderNotifications

/// Where a store's database is, who uses it, and how a connection to it is made.
struct DatabasePlace: Sendable {
    let address: DatabaseAddress
    /// The name of the relay in the database.
    let node: String
    /// Whether a database is used that may lose what it has committed.
    let acceptsLosses: Bool
    /// How long the server may be silent, in milliseconds.
    var patience: CInt = 10_000
    /// The shortest and the longest pause between attempts to connect.
    var pauses = Reconnection.usualPauses

    /// A connection and what was found out about its server.
    struct Opened {
        let connection: PostgresConnection
        let isLossy: Bool
    }

    /// The settings of each connection. The server must not end a statement by itself: one that waits for a synchronous
    /// standby would then be committed without it. The relay gives up by closing the connection instead. A fence that
    /// has waited for a lock must see what was committed meanwhile, which is not so at higher levels of isolation.
    private static let settings = [
        "SET search_path = postrider", "SET statement_timeout = 0", "SET lock_timeout = 0",
        "SET idle_in_transaction_session_timeout = 0",
        "SET default_transaction_isolation = 'read committed'",
    ]

    /// Makes a connection, and checks that the server keeps what it commits.
    func open(log: Log) throws(StoreError) -> Opened {
        let connection: PostgresConnection
        do throws(PostgresFailure) {
            connection = try PostgresConnection(
                address, application: "postrider " + node, patience: patience)
        } catch {
            throw StoreError(connecting: error, to: address)
        }
        let (promise, encoding) = try saying { () throws(PostgresFailure) in
            _ = try connection.run(Self.settings.map { Request($0) })
            let shown = try connection.run([Request("SHOW server_encoding")])
            return (try DurabilityPromise(of: connection), shown.first?.rows.first?.text(0) ?? "")
        }
        guard ["UTF8", "UTF-8"].contains(encoding.uppercased()) else {
            throw StoreError(
                .unusable,
                "The database \(address) has the encoding \(encoding): make it again with the encoding UTF8.")
        }
        guard promise.gaps.isEmpty || acceptsLosses else { throw promise.refusal(at: address) }
        if !promise.gaps.isEmpty {
            log.warning(
                "the database \(address) may lose what it has committed, as accept-unsafe-database permits: "
                    + promise.gaps.joined(separator: "; "))
        }
        return Opened(connection: connection, isLossy: !promise.gaps.isEmpty)
    }

    /// Prepares the statements of each batch.
    func prepareStatements(
        _ connection: PostgresConnection, checks: PartitionChecks? = nil
    ) throws(PostgresFailure) {
        let fence = Request(NodeClaim.fenceSQL, name: "fence")
        try connection.prepare(
            QueueStatements.names + RegistryStatements.names + [fence]
                + (checks == nil ? [] : PartitionChecks.names))
        guard checks != nil else { return }
        // Whoever takes over waits for a transaction under way; one whose rest will never arrive must end.
        _ = try connection.run([Request("SET idle_in_transaction_session_timeout = 1000")])
    }

    /// Makes the tables, or migrates them.
    func checkSchema(_ connection: PostgresConnection) throws(StoreError) {
        let version = try saying { () throws(PostgresFailure) in
            try PostgresSchema.repeatingCollisions(connection) { () throws(PostgresFailure) in
                try PostgresSchema.prepare(connection)
            }
        }
        guard version <= PostgresSchema.version else {
            throw StoreError(
                .unusable,
                "The database \(address) was written by a newer version (its schema is \(version), "
                    + "this program knows \(PostgresSchema.version)): run that version.")
        }
    }

    /// Calls `body`, and makes sentences of its failures.
    func saying<Value>(_ body: () throws(PostgresFailure) -> Value) throws(StoreError) -> Value {
        do throws(PostgresFailure) { return try body() } catch { throw StoreError(error, at: address) }
    }

    /// The error of a relay whose node another one has taken over.
    var fencing: StoreError {
        StoreError(
            .fenced,
            "Another relay has taken over the node '\(node)' of the database \(address), and this one stores "
                + "nothing any more: end one of the two, or give each a database of its own.")
    }
}

import PostriderNotifications

/// The tables of a store in a PostgreSQL database, in a schema of their own, `postrider`. It is plain SQL, which
/// YugabyteDB and CockroachDB take as well.
enum PostgresSchema {
    /// `steps[n]` migrates version n to version n + 1. A released step is never changed; new steps are appended.
    static let steps: [[String]] = [
        [
            """
            CREATE TABLE node (
                name text PRIMARY KEY,
                holder text NOT NULL,
                incarnation bigint NOT NULL
            )
            """,
            """
            CREATE TABLE queue (
                number bigint PRIMARY KEY,
                device bytea NOT NULL,
                registration bigint NOT NULL,
                priority bigint NOT NULL,
                expires_at bigint NOT NULL,
                identity bytea NOT NULL,
                collapse_identifier text,
                topic text NOT NULL,
                push_type text,
                accepted_at bigint NOT NULL,
                payload bytea NOT NULL
            )
            """,
            "CREATE TABLE token_secret (number bigint PRIMARY KEY, secret bytea NOT NULL)",
            """
            CREATE TABLE device (
                identity bytea PRIMARY KEY,
                secret_digest bytea NOT NULL,
                name text NOT NULL,
                enrolled_at bigint NOT NULL,
                seen_at bigint NOT NULL
            )
            """,
            """
            CREATE TABLE registration (
                device bytea NOT NULL,
                number bigint NOT NULL,
                topic text NOT NULL,
                registered_at bigint NOT NULL,
                unregistered_at bigint,
                PRIMARY KEY (device, number)
            )
            """,
            """
            CREATE TABLE provider_key (
                identifier text PRIMARY KEY,
                team text NOT NULL,
                public_key text NOT NULL,
                added_at bigint NOT NULL,
                environment text,
                topics text,
                related_key text,
                revoked_at bigint
            )
            """,
            """
            CREATE TABLE topic (
                topic text PRIMARY KEY,
                team text NOT NULL,
                takes_broadcasts bigint NOT NULL
            )
            """,
            """
            CREATE TABLE enrolment_key (
                name text PRIMARY KEY,
                digest bytea NOT NULL,
                added_at bigint NOT NULL,
                tags text NOT NULL,
                ends_at bigint,
                uses bigint,
                used bigint NOT NULL,
                name_pattern text
            )
            """,
            """
            CREATE TABLE channel (
                identity bytea PRIMARY KEY,
                topic text NOT NULL,
                environment text NOT NULL,
                storage bigint NOT NULL,
                created_at bigint NOT NULL
            )
            """,
            """
            CREATE TABLE broadcast (
                channel bytea PRIMARY KEY,
                identity bytea NOT NULL,
                topic text NOT NULL,
                payload bytea NOT NULL,
                priority bigint NOT NULL,
                expires_at bigint NOT NULL,
                push_type text NOT NULL,
                accepted_at bigint NOT NULL
            )
            """,
            """
            CREATE TABLE presence (
                device bytea PRIMARY KEY,
                is_connected bigint NOT NULL,
                since bigint NOT NULL,
                address text NOT NULL,
                agent text NOT NULL,
                ending text
            )
            """,
            """
            CREATE TABLE label (
                device bytea PRIMARY KEY,
                name text,
                is_given bigint NOT NULL,
                tags text NOT NULL
            )
            """,
            """
            CREATE TABLE run (
                started_at bigint PRIMARY KEY,
                alive_at bigint NOT NULL,
                is_stopped bigint NOT NULL
            )
            """,
        ],
        // Adds when a key ends. Existing keys have no end.
        ["ALTER TABLE provider_key ADD COLUMN ends_at bigint"],
        [
            """
            CREATE TABLE web_subscription (
                device bytea NOT NULL,
                number bigint NOT NULL,
                channel text NOT NULL,
                sender_key bytea,
                PRIMARY KEY (device, number)
            )
            """
        ],
        // The members of a cluster, and which of them has which partition of the devices.
        [
            """
            CREATE TABLE member (
                name text PRIMARY KEY,
                holder text NOT NULL,
                session bigint NOT NULL,
                generation bigint NOT NULL,
                beat bigint NOT NULL,
                is_draining bigint NOT NULL
            )
            """,
            "CREATE TABLE placement (number bigint PRIMARY KEY, node text)",
            "INSERT INTO placement (number) SELECT generate_series(0, 1023)",
            """
            CREATE TABLE registry_version (
                number bigint PRIMARY KEY CHECK (number = 1),
                version bigint NOT NULL
            )
            """,
            "INSERT INTO registry_version VALUES (1, 0)",
        ],
        [
            """
            CREATE TABLE receipt (
                number bigint PRIMARY KEY,
                device bytea NOT NULL,
                registration bigint NOT NULL,
                subscription bytea NOT NULL,
                expires_at bigint NOT NULL,
                outcome bigint
            )
            """
        ],
        [
            """
            CREATE TABLE send_token (
                name text PRIMARY KEY,
                digest bytea NOT NULL,
                topics text NOT NULL,
                added_at bigint NOT NULL
            )
            """
        ],
        // Adds the trace context of the provider. Existing notifications have none.
        ["ALTER TABLE queue ADD COLUMN trace_context text"],
        // Adds where a member is reached, and what tells a cluster from others; there is none before the first node.
        [
            "ALTER TABLE member ADD COLUMN address text NOT NULL DEFAULT ''",
            "ALTER TABLE cluster ADD COLUMN identifier text NOT NULL DEFAULT ''",
        ],
    ]

    /// Settings of PostgreSQL for the queue, which other engines may refuse. Its rows live for moments, so they are
    /// cleaned away after a number of removals, whatever is left. Payloads stay in the rows, uncompressed, because a
    /// second table for each of them costs more than it saves.
    static let tuning = [
        """
        ALTER TABLE queue SET (
            autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000,
            autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 100000,
            autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 100000,
            autovacuum_vacuum_cost_delay = 0, toast_tuple_target = 8160
        )
        """,
        "ALTER TABLE queue ALTER COLUMN payload SET STORAGE EXTERNAL",
    ]

    /// The partition of the device whose identity is in this column (``Partition/init(of:)``).
    static func partition(of column: String) -> String {
        "(get_byte(\(column), 10) % 4 * 256 + get_byte(\(column), 11))"
    }

    /// The newest version.
    static var version: Int { steps.count }

    /// What makes the schema in an empty database, before its first step.
    private static let beginning = [
        "CREATE SCHEMA IF NOT EXISTS postrider",
        """
        CREATE TABLE cluster (
            number bigint PRIMARY KEY CHECK (number = 1),
            schema_version bigint NOT NULL,
            generation bigint NOT NULL
        )
        """,
        "INSERT INTO cluster VALUES (1, 0, 0)",
    ]

    /// How long the server may be silent while it changes the tables, in milliseconds.
    static let patience: CInt = 600_000

    /// Makes the tables, or migrates them to the newest version. All of it happens, or nothing. Nothing happens to
    /// tables of a newer version.
    ///
    /// - Returns: the version that the tables have then.
    static func prepare(_ connection: PostgresConnection) throws(PostgresFailure) -> Int {
        let usual = connection.patience
        connection.patience = patience
        defer { connection.patience = usual }
        let found = try connection.run([
            Request(
                """
                SELECT count(*) FROM information_schema.tables
                WHERE table_schema = 'postrider' AND table_name = 'cluster'
                """)
        ])
        let isNew = found.first?.rows.first?.integer(0) == 0
        _ = try connection.run([Request("BEGIN")] + (isNew ? beginning : []).map { Request($0) })
        // The lock makes a second relay that starts at the same time wait.
        let locked = try connection.run([Request("SELECT schema_version FROM cluster FOR UPDATE")])
        let present = Int(locked.first?.rows.first?.integer(0) ?? 0)
        guard present < version else {
            _ = try connection.run([Request("ROLLBACK")])
            return present
        }
        let note = Request("UPDATE cluster SET schema_version = $1") { $0.add(Int64(version)) }
        _ = try connection.run(steps[present...].joined().map { Request($0) } + [note, Request("COMMIT")])
        for statement in isNew ? tuning : [] { _ = try? connection.run([Request(statement)]) }
        return version
    }
}

import Glibc

extension PostgresSchema {
    /// Calls `body`, which makes schema, tables or indexes, again if another process has made the same at the same
    /// time: PostgreSQL then reports that they are there although they were not, with `IF NOT EXISTS`, too. Nodes of a
    /// cluster are started together.
    static func repeatingCollisions<Value>(
        _ connection: PostgresConnection, _ body: () throws(PostgresFailure) -> Value
    ) throws(PostgresFailure) -> Value {
        // unique_violation, duplicate_schema, duplicate_table, deadlock_detected
        let collisions = ["23505", "42P06", "42P07", "40P01"]
        for _ in 1..<10 {
            do throws(PostgresFailure) {
                return try body()
            } catch {
                guard collisions.contains(error.state) else { throw error }
                _ = try connection.run([Request("ROLLBACK")])
                usleep(50_000)
            }
        }
        return try body()
    }

    /// Makes what a cluster needs besides the tables of every relay. The first node's text becomes the identifier of
    /// the cluster.
    static func prepareForNodes(_ connection: PostgresConnection) throws(PostgresFailure) {
        let identify = Request("UPDATE cluster SET identifier = $1 WHERE identifier = ''") {
            $0.add(NodeClaim.drawHolder())
        }
        _ = try connection.run([identify])
        try makeIndexes(connection)
    }

    /// Makes the indexes by which a node loads partitions. A relay that has a database alone needs none of them, and
    /// does not pay for them.
    private static func makeIndexes(_ connection: PostgresConnection) throws(PostgresFailure) {
        let tables = [
            ("queue", "device"), ("device", "identity"), ("registration", "device"), ("presence", "device"),
            ("label", "device"), ("web_subscription", "device"),
        ]
        let found = try connection.run([
            Request(
                """
                SELECT count(*) FROM pg_indexes
                WHERE schemaname = 'postrider' AND indexname LIKE '%_partition'
                """
            )
        ])
        guard found.first?.rows.first?.integer(0) != Int64(tables.count) else { return }
        let usual = connection.patience
        connection.patience = patience
        defer { connection.patience = usual }
        for (table, column) in tables {
            let place = partition(of: column)
            _ = try connection.run([
                Request("CREATE INDEX IF NOT EXISTS \(table)_partition ON \(table) (\(place))")
            ])
        }
    }
}

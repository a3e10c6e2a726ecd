extension PostgresSchema {
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

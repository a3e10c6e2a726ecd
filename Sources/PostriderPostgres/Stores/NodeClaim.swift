/// A relay's claim to be a node of the database. Only the node's last claim may change anything: every transaction
/// begins by locking the node's row and comparing the incarnation, so what an earlier claim sends has no effect.
struct NodeClaim {
    /// The name of the node.
    let name: String
    /// Tells this process from others that claim the same node.
    let holder: String
    /// The number of the claim; it rises with every claim of every node.
    private(set) var incarnation: Int64 = 0

    init(name: String, holder: String = NodeClaim.drawHolder()) {
        self.name = name
        self.holder = holder
    }

    /// Draws a text that no other process has.
    static func drawHolder() -> String {
        String(UInt64.random(in: .min ... .max), radix: 16)
            + String(UInt64.random(in: .min ... .max), radix: 16)
    }

    /// Draws a number that was never drawn before.
    private static let draw = Request("UPDATE cluster SET generation = generation + 1 RETURNING generation")

    /// Takes the node over from whoever holds it. It waits for a transaction of the holder that is under way.
    mutating func take(_ connection: PostgresConnection) throws(PostgresFailure) {
        try move(
            connection,
            """
            INSERT INTO node (name, holder, incarnation) SELECT $1, $2, generation FROM cluster
            ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, incarnation = excluded.incarnation
            RETURNING incarnation
            """)
    }

    /// Moves this process's claim to another connection: what the old connection has sent is committed before this
    /// returns, or never.
    ///
    /// - Returns: whether this process still holds the node.
    mutating func move(to connection: PostgresConnection) throws(PostgresFailure) -> Bool {
        try move(
            connection,
            """
            UPDATE node SET incarnation = generation FROM cluster WHERE name = $1 AND holder = $2
            RETURNING incarnation
            """)
    }

    @discardableResult
    private mutating func move(_ connection: PostgresConnection, _ sql: String) throws(PostgresFailure)
        -> Bool
    {
        let change = Request(sql) { [name, holder] in
            $0.add(name)
            $0.add(holder)
        }
        let row = try connection.transaction([Self.draw, change]).last?.rows.first
        if let row { incarnation = row.integer(0) }
        return row != nil
    }

    /// The beginning of every transaction. It divides by zero if another process has taken the node over.
    var fence: Request {
        Request(Self.fenceSQL, name: "fence") {
            $0.add(name)
            $0.add(incarnation)
        }
    }

    /// The statement of ``fence``, for preparing it.
    static let fenceSQL = """
        SELECT 1 / count(*) FROM
        (SELECT 1 AS own FROM node WHERE name = $1::text AND incarnation = $2::bigint FOR SHARE) AS claim
        """

    /// Whether a transaction has failed because another process has taken the node over.
    static func isFenced(_ failure: PostgresFailure) -> Bool {
        failure.statement == 0 && failure.state == "22012"
    }
}

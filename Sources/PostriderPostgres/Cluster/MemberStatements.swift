import PostriderCluster
import PostriderNotifications

/// The statements of a node about the members of a cluster and their partitions.
///
/// Locks are taken in this order: the row of `cluster`, which makes changes wait for each other, the rows of `member`,
/// those of `node`, those of `placement`. A commit of a ledger locks its own row of `node` in share mode only, so a
/// change that takes partitions from a node waits for it, and heartbeats do not.
struct MemberStatements {
    let name: NodeName
    /// Where the other nodes reach this one.
    let address: String
    /// Tells this membership from others of the same name.
    var holder: String
    /// The number of the connection, by which what an earlier one has sent is recognised.
    var session: Int64 = 0

    /// The members, one in each row, after a row without a name for the free partitions.
    static let view = Request(
        """
        SELECT name, generation, beat, is_draining,
            (SELECT coalesce(string_agg(number::text, ','), '') FROM placement WHERE node = name),
            (SELECT version FROM registry_version), (SELECT count(*) FROM placement), address,
            (SELECT identifier FROM cluster)
        FROM member
        UNION ALL
        SELECT '', 0, 0, 0,
            (SELECT coalesce(string_agg(number::text, ','), '') FROM placement WHERE node IS NULL),
            (SELECT version FROM registry_version), (SELECT count(*) FROM placement), '',
            (SELECT identifier FROM cluster)
        """)

    /// Waits for other changes of the cluster, and draws a generation.
    private static let draw = Request("UPDATE cluster SET generation = generation + 1")

    /// Removes what nodes have that are no members: their claims, for which a commit under way is waited for, and then
    /// their partitions.
    static let purge = [
        Request("DELETE FROM node WHERE NOT EXISTS (SELECT 1 FROM member WHERE member.name = node.name)"),
        Request(
            """
            UPDATE placement SET node = NULL
            WHERE node IS NOT NULL AND NOT EXISTS (SELECT 1 FROM member WHERE member.name = placement.node)
            """),
    ]

    /// Makes what earlier connections have sent ineffective. It waits for a transaction of theirs.
    var renewal: Request {
        Request("UPDATE member SET session = $3 WHERE name = $1 AND holder = $2", own)
    }

    /// Divides by zero if the node is not a member any more.
    private var fence: Request {
        Request(
            """
            SELECT 1 / count(*) FROM
            (SELECT 1 AS own FROM member WHERE name = $1 AND holder = $2 AND session = $3 FOR UPDATE) AS claim
            """, own)
    }

    /// The third answer has a row if the heartbeat was recorded; the fourth is the view.
    func beat(_ number: Int64, isDraining: Bool) -> [Request] {
        [
            fence,
            Request(
                "UPDATE member SET beat = $2, is_draining = $3 WHERE name = $1 AND beat < $2 RETURNING beat"
            ) {
                $0.add(name.text)
                $0.add(number)
                $0.add(isDraining ? 1 : 0)
            },
            Self.view,
        ]
    }

    /// The last answer has the number of members and of those that are this one.
    func join(replacing dead: ClusterNode?) -> [Request] {
        [Self.draw] + (dead.map { [remove($0)] } ?? []) + Self.purge + [
            Request(
                """
                INSERT INTO member (name, holder, session, generation, beat, is_draining, address)
                SELECT $1, $2, $3, generation, 0, 1, $4 FROM cluster
                WHERE (SELECT count(*) FROM member) < \(Limits.nodes)
                ON CONFLICT (name) DO UPDATE SET session = excluded.session
                    WHERE member.holder = excluded.holder
                """
            ) {
                own(&$0)
                $0.add(address)
            },
            Request(
                """
                INSERT INTO node (name, holder, incarnation)
                SELECT name, holder, generation FROM member WHERE name = $1 AND holder = $2 AND session = $3
                ON CONFLICT (name) DO NOTHING
                """, own),
            Request(
                """
                SELECT count(*), sum(CASE WHEN name = $1 THEN 1 ELSE 0 END)::bigint,
                    sum(CASE WHEN name = $1 AND holder = $2 AND session = $3 THEN 1 ELSE 0 END)::bigint
                FROM member
                """, own),
        ]
    }

    func change(_ change: ClusterChange) -> [Request] {
        var requests = [Self.draw, fence]
        let dead = change.dead.filter { $0.name != name }
        requests += dead.map(remove) + (dead.isEmpty ? [] : Self.purge)
        if !change.released.isEmpty {
            requests += [
                Request("SELECT 1 FROM node WHERE name = $1 FOR UPDATE") { $0.add(name.text) },
                Request(
                    "UPDATE placement SET node = NULL WHERE node = $1 AND number = ANY($2)",
                    of(change.released)),
            ]
        }
        if !change.claimed.isEmpty {
            requests.append(
                Request(
                    """
                    WITH taken AS (
                        UPDATE placement SET node = $1 WHERE node IS NULL AND number = ANY($2)
                        RETURNING number)
                    UPDATE member SET generation = cluster.generation FROM cluster
                    WHERE name = $1 AND EXISTS (SELECT 1 FROM taken)
                    """, of(change.claimed)))
        }
        return requests
    }

    var leave: [Request] {
        [
            Self.draw,
            Request("DELETE FROM member WHERE name = $1 AND holder = $2 AND session = $3", own),
        ] + Self.purge
    }

    /// Removes a member that still has this heartbeat.
    func remove(_ node: ClusterNode) -> Request { Self.remove(node) }

    static func remove(_ node: ClusterNode) -> Request {
        Request("DELETE FROM member WHERE name = $1 AND generation = $2 AND beat = $3") {
            $0.add(node.name.text)
            $0.add(node.generation)
            $0.add(node.beat)
        }
    }

    private func own(_ parameters: inout Parameters) {
        parameters.add(name.text)
        parameters.add(holder)
        parameters.add(session)
    }

    private func of(_ partitions: Set<Partition>) -> (inout Parameters) -> Void {
        { [name] in
            $0.add(name.text)
            $0.add(partitions.map { Int64($0.number) })
        }
    }
}

import Glibc
import PostriderCluster
import PostriderNotifications

extension DatabasePlace {
    /// The error of a node that is not a member any more.
    var exclusion: StoreError {
        StoreError(
            .fenced,
            "The node '\(node)' is not a member of the cluster in the database \(address) any more: others "
                + "have its devices.")
    }

    /// Removes the members of a cluster that has used the database, for a relay that is to have it alone. If there are
    /// members, their heartbeats are watched for a lease first.
    ///
    /// - Throws: ``StoreError`` of kind ``StoreError/Kind/busy`` if a member is alive.
    func removeDeadMembers(_ connection: PostgresConnection) throws(StoreError) {
        let found = try members(connection)
        guard !found.isEmpty else { return }
        let clock = ContinuousClock()
        let end = clock.now + .nanoseconds(Int64(Lease.usual.duration))
        while clock.now < end {
            let present = try members(connection)
            if let alive = present.first(where: { !found.contains($0) }) {
                throw StoreError(
                    .busy,
                    "The database \(address) is that of a cluster, whose node '\(alive.name)' is running: "
                        + "end its nodes first, or give this relay a database of its own.")
            }
            usleep(50_000)
        }
        try saying { () throws(PostgresFailure) in
            let lock = Request("UPDATE cluster SET generation = generation + 1")
            try connection.transaction([lock] + found.map(MemberStatements.remove) + MemberStatements.purge)
        }
        guard try members(connection).isEmpty else { return try removeDeadMembers(connection) }
    }

    private func members(_ connection: PostgresConnection) throws(StoreError) -> [ClusterNode] {
        let rows = try saying { () throws(PostgresFailure) in
            try connection.run([Request("SELECT name, address, generation, beat FROM member")])
                .flatMap(\.rows)
        }
        return rows.compactMap { row in
            NodeName(row.text(0)).map {
                ClusterNode(
                    name: $0, address: row.text(1), generation: row.integer(2), beat: row.integer(3),
                    isDraining: false)
            }
        }
    }
}

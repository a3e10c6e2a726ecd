public import PostriderCluster
public import PostriderNotifications
public import PostriderStorage

/// A node's access to the members of its cluster, in the cluster's PostgreSQL database. It has a connection of its own.
///
/// The server may be silent for a part of a lease only; then the connection is closed, and the next call makes a new
/// one, which takes the effect from everything that the old one has sent.
public final class PostgresClusterStore: ClusterStore {
    let place: DatabasePlace
    private let log: Log
    /// They have another holder after each end of a membership, so that the ledger's store of an earlier one cannot
    /// make changes for the next.
    private(set) var statements: MemberStatements
    private var connection: PostgresConnection?
    /// The claim on the directory of the process's other files.
    private let directory: OwnedDirectory?

    /// The part of the usual lease for which an answer is waited for, in milliseconds; and for which a change waits for
    /// the commits of others.
    private static let (patience, lockPatience): (CInt, Int) = (600, 400)

    /// Opens the database, and makes or migrates its tables.
    ///
    /// - Parameters:
    ///   - address: where the database is.
    ///   - name: the node's name.
    ///   - nodeAddress: where the other nodes reach this one (``ClusterNode/address``).
    ///   - acceptsLosses: whether a database is used that may lose what it has committed.
    ///   - directory: the directory of the process's other files; this object keeps it claimed.
    /// - Throws: what ``PostgresStore`` throws, and ``StoreError`` of kind ``StoreError/Kind/unusable`` if the
    ///   database has another number of partitions.
    public init(
        _ address: DatabaseAddress, name: NodeName, address nodeAddress: String, acceptsLosses: Bool = false,
        directory: OwnedDirectory? = nil, log: Log
    ) throws(StoreError) {
        let place = DatabasePlace(address: address, node: name.text, acceptsLosses: acceptsLosses)
        self.place = place
        self.directory = directory
        self.log = log
        statements = MemberStatements(name: name, address: nodeAddress, holder: NodeClaim.drawHolder())
        let opened = try place.open(log: log)
        try place.checkSchema(opened.connection)
        try place.saying { () throws(PostgresFailure) in
            try PostgresSchema.repeatingCollisions(opened.connection) { () throws(PostgresFailure) in
                try PostgresSchema.prepareForNodes(opened.connection)
            }
        }
        connection = try begin(opened.connection)
        _ = try look()
    }

    /// By what the database knows the store of the node's ledger.
    public var claim: MemberClaim { MemberClaim(name: statements.name, holder: statements.holder) }

    /// Returns the cluster.
    public func look() throws(StoreError) -> ClusterView {
        try attempt { connection, _ throws(PostgresFailure) in
            try connection.run([MemberStatements.view])[...]
        } then: { results throws(StoreError) in
            try view(results.last?.rows ?? [])
        }
    }

    /// Makes the node a member.
    public func join(replacing dead: ClusterNode?) throws(StoreError) -> Bool {
        if dead != nil { statements.holder = NodeClaim.drawHolder() }
        return try attempt { connection, statements throws(PostgresFailure) in
            try connection.transaction(statements.join(replacing: dead))
        } then: { results throws(StoreError) in
            guard let row = results.last?.rows.first else { return false }
            if row.integer(2) > 0 { return true }
            guard row.integer(1) == 0, row.integer(0) >= Limits.nodes else { return false }
            throw StoreError(
                .conflict, "The cluster has \(Limits.nodes) nodes, which is the most: end one of them first.")
        }
    }

    /// Records a heartbeat and returns the cluster.
    public func beat(_ number: Int64, isDraining: Bool) throws(StoreError) -> ClusterView {
        try attempt { connection, statements throws(PostgresFailure) in
            try connection.transaction(statements.beat(number, isDraining: isDraining))
        } then: { [statements] results throws(StoreError) in
            guard results.dropFirst().first?.rows.isEmpty == false else {
                throw StoreError(
                    .conflict, "Heartbeat \(number) of '\(statements.name)' comes after a later one.")
            }
            return try view(results.last?.rows ?? [])
        }
    }

    /// Makes a change.
    public func change(_ change: ClusterChange) throws(StoreError) {
        try attempt { connection, statements throws(PostgresFailure) in
            try connection.transaction(statements.change(change))
        } then: { _ in
        }
    }

    /// Ends the membership.
    public func leave() throws(StoreError) {
        try attempt { connection, statements throws(PostgresFailure) in
            try connection.transaction(statements.leave)
        } then: { _ in
        }
        statements.holder = NodeClaim.drawHolder()
    }

    /// Closes the connection.
    public func close() { connection = nil }

    // MARK: - The connection

    /// Makes a connection this store's only one.
    private func begin(_ connection: PostgresConnection) throws(StoreError) -> PostgresConnection {
        statements.session += 1
        let requests = [Request("SET lock_timeout = \(Self.lockPatience)"), statements.renewal]
        try place.saying { () throws(PostgresFailure) in _ = try connection.run(requests) }
        connection.patience = Self.patience
        return connection
    }

    /// The same place, for connections that are made while heartbeats are due.
    private var quickPlace: DatabasePlace {
        var place = place
        place.patience = Self.patience
        return place
    }

    /// Asks through the connection, which is made again if it was lost, with the statements of that connection.
    private func attempt<Value>(
        _ ask: (PostgresConnection, MemberStatements) throws(PostgresFailure) -> ArraySlice<PostgresResult>,
        then read: (ArraySlice<PostgresResult>) throws(StoreError) -> Value
    ) throws(StoreError) -> Value {
        let connection =
            if let connection { connection } else { try begin(try quickPlace.open(log: log).connection) }
        self.connection = connection
        let results: ArraySlice<PostgresResult>
        do throws(PostgresFailure) {
            results = try ask(connection, statements)
        } catch {
            if connection.isLost || error.isLost { self.connection = nil }
            guard error.state == "22012" else { throw StoreError(error, at: place.address) }
            statements.holder = NodeClaim.drawHolder()
            throw place.exclusion
        }
        return try read(results)
    }

    private func view(_ rows: [PostgresRow]) throws(StoreError) -> ClusterView {
        var nodes: [ClusterNode] = []
        var owners = [NodeName?](repeating: nil, count: Partition.count)
        for row in rows {
            guard row.integer(6) == Partition.count else {
                throw StoreError(
                    .unusable,
                    "The cluster in the database \(place.address) has \(row.integer(6)) partitions, and this "
                        + "program \(Partition.count): run the version that has made it.")
            }
            guard let name = NodeName(row.text(0)) else { continue }
            nodes.append(
                ClusterNode(
                    name: name, address: row.text(7), generation: row.integer(1), beat: row.integer(2),
                    isDraining: row.integer(3) != 0))
            for number in row.text(4).split(separator: ",").compactMap({ Int($0) })
            where owners.indices.contains(number) {
                owners[number] = name
            }
        }
        return ClusterView(
            cluster: rows.first?.text(8) ?? "", nodes: nodes, placement: Placement(owners: owners),
            registryVersion: rows.first?.integer(5) ?? 0)
    }
}

import FoundationEssentials
import Glibc
import PostriderCluster
import PostriderCommands
import PostriderNotifications
import PostriderPostgres
import PostriderStorage

/// Where a relay has its store: in files of its data directory, or in a database.
struct StorePlace: Sendable {
    /// The directory of the store's files, and of everything else that the relay keeps.
    let dataDirectory: String
    /// The database; nil for files.
    var database: DatabaseAddress?
    /// Whether a database is used that may lose what it has committed.
    var acceptsLosses = false

    /// Opens the store, and claims the data directory.
    func open(log: Log) throws(StoreError) -> any Store {
        guard let database else { return try SQLiteStore(directory: dataDirectory, log: log) }
        return try PostgresStore(
            database, acceptsLosses: acceptsLosses, directory: ownDirectory(besides: database, log: log),
            log: log
        ) { error in
            // It ends in order, and a supervisor does not start it again: two relays that take the same database over
            // from each other would serve nobody.
            log.error("this relay ends: \(error)")
            kill(getpid(), SIGTERM)
        }
    }

    /// Opens the database of a cluster for the membership of a node, and claims the data directory for the process.
    ///
    /// - Parameter address: where the other nodes reach it.
    func openMembership(
        _ name: NodeName, at address: String, log: Log
    ) throws(StoreError) -> any ClusterStore {
        let database = clusterDatabase
        return try PostgresClusterStore(
            database, name: name, address: address, acceptsLosses: acceptsLosses,
            directory: ownDirectory(besides: database, log: log), log: log)
    }

    /// Opens the store of a node's ledger.
    func openPartitions(of claim: MemberClaim, log: Log) throws(StoreError) -> any PartitionStore {
        try PostgresPartitionStore(clusterDatabase, of: claim, acceptsLosses: acceptsLosses, log: log)
    }

    private var clusterDatabase: DatabaseAddress {
        guard let database else { preconditionFailure("the settings give a node a database") }
        return database
    }

    /// Claims the data directory of a relay whose store is a database.
    private func ownDirectory(besides database: DatabaseAddress, log: Log) throws(StoreError)
        -> OwnedDirectory
    {
        let directory = try OwnedDirectory(dataDirectory, log: log)
        let unused = dataDirectory + "/registry.sqlite"
        if FileManager.default.fileExists(atPath: unused) {
            log.warning("the relay's store is the database \(database), and \(unused) is not used")
        }
        return directory
    }
}

extension Settings {
    /// Where the relay has its store. The text of the setting may contain a password, so no error repeats it.
    func storePlace() throws -> StorePlace {
        var place = StorePlace(dataDirectory: try texts.required(.dataDirectory))
        place.acceptsLosses = try texts.boolean(.acceptLosses) ?? false
        guard let text = texts[.store] else { return place }
        guard let address = DatabaseAddress(text) else { throw texts.mistake(.store, DatabaseAddress.form) }
        place.database = address
        return place
    }
}

extension DatabaseAddress {
    /// What is wrong with a text that is no connection string, as the end of a sentence.
    static let form =
        "must be a connection string of PostgreSQL such as postgresql://postrider@db.example/postrider, and "
        + "its password must be percent-encoded"
}

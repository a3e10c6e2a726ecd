import DatabaseFixtures
import Foundation
import PostriderNotifications
import PostriderPostgres
import Testing

@testable import PostriderStorage

/// The engines that the conformance suite runs on.
enum Engine: CaseIterable, CustomTestStringConvertible {
    case memory, sqlite, postgres

    /// The engines whose stores another process can take over.
    static let fenced = [Engine.memory, .postgres]

    var testDescription: String {
        switch self {
        case .memory: "MemoryStore"
        case .sqlite: "SQLiteStore"
        case .postgres: "PostgresStore"
        }
    }
}

/// The place of a store of one engine, which can be opened again, as after a restart of the process.
final class StoreFixture {
    let directory = Scratch()
    private let engine: Engine
    private let disk = MemoryStore.Disk()
    /// The connection string of the database; empty for other engines.
    let database: String
    private(set) var store: any Store

    init(_ engine: Engine) throws {
        self.engine = engine
        database = engine == .postgres ? try DatabaseServer.shared.get().makeDatabase() : ""
        store = try Self.open(engine, disk, directory.store, database)
    }

    func reopen() throws {
        store.close()
        store = try succeed()
    }

    /// Opens the store as another process does while the first one runs.
    func succeed() throws -> any Store { try Self.open(engine, disk, directory.store, database) }

    private static func open(
        _ engine: Engine, _ disk: MemoryStore.Disk, _ directory: String, _ database: String
    ) throws -> any Store {
        switch engine {
        case .memory: MemoryStore(disk: disk, node: "a")
        case .sqlite: try SQLiteStore(directory: directory, log: .none)
        case .postgres:
            // The server that tests share does not sync.
            try PostgresStore(
                try #require(DatabaseAddress(database)), node: "a", acceptsLosses: true, log: .none)
        }
    }

    /// Whether a store has used this row last. An engine that several processes use one after another names a higher
    /// one.
    func expectLast(_ row: Int64, _ found: Int64) -> Bool {
        engine == .postgres ? found >= 1 << 40 && found % (1 << 40) == 0 : found == row
    }
}

/// A temporary directory for one test, removed with this object.
final class Scratch {
    let path: String
    /// The path for a store; it does not exist yet.
    var store: String { path + "/store" }

    init() {
        path = FileManager.default.temporaryDirectory.path + "/storage-" + UUID().uuidString
        try? FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// Copies the store's files as they are now, as a killed process would leave them.
    func copyStore(to target: String) throws {
        try FileManager.default.createDirectory(atPath: target, withIntermediateDirectories: true)
        for name in try FileManager.default.contentsOfDirectory(atPath: store) where !name.hasSuffix("-shm") {
            try FileManager.default.copyItem(atPath: store + "/" + name, toPath: target + "/" + name)
        }
    }

    static func permissions(_ path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }

    static func size(_ path: String) throws -> Int {
        try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0
    }
}

extension Store {
    func apply(_ changes: [RegistryChange]) throws {
        var answers: [Result<Void, StoreError>] = []
        apply(changes) { answers.append($0) }
        precondition(answers.count == 1, "a completion is called exactly once")
        try answers[0].get()
    }

    func firstTokenSecrets(_ drawn: [UInt8]) throws -> [[UInt8]] {
        var answers: [Result<[[UInt8]], StoreError>] = []
        addFirstTokenSecret(drawn) { answers.append($0) }
        precondition(answers.count == 1, "a completion is called exactly once")
        return try answers[0].get()
    }

    func commit(enqueue: [QueuedNotification] = [], settle: [Int64] = []) throws {
        var batch = QueueBatch()
        batch.enqueued = enqueue
        batch.settled = settle.map(QueueRow.init)
        var answers: [Result<Void, StoreError>] = []
        commit(batch) { answers.append($0) }
        precondition(answers.count == 1, "a completion is called exactly once")
        try answers[0].get()
    }

    func read(_ rows: [Int64]) throws -> [QueuedNotification] {
        var answers: [Result<[QueuedNotification], StoreError>] = []
        read(rows.map(QueueRow.init)) { answers.append($0) }
        precondition(answers.count == 1, "a completion is called exactly once")
        return try answers[0].get()
    }

    func scan() throws -> (entries: [QueueEntry], last: Int64) {
        var entries: [QueueEntry] = []
        let last = try scanQueue { entries.append($0) }
        return (entries, last.value)
    }

    /// The stored row numbers, in order.
    func rows() throws -> [Int64] { try scan().entries.map(\.row.value) }
}

/// Makes a notification whose fields all follow from `number`.
func sample(
    _ number: Int64, payloadBytes: Int = 200, collapse: String? = nil, pushType: PushType? = .alert,
    traceContext: TraceContext? = nil
) throws -> QueuedNotification {
    guard let topic = Topic("com.example.app\(number % 7)") else { preconditionFailure("a good topic") }
    let low = UInt32(truncatingIfNeeded: number)
    return QueuedNotification(
        row: QueueRow(number),
        notification: Notification(
            identity: NotificationIdentity(high: .max - UInt64(number), low: UInt64(number) << 32 | 7),
            device: DeviceIdentity(high: 0xF0E0_D0C0_B0A0_9080 &+ UInt64(number), low: .max - low),
            registration: RegistrationNumber(UInt32.max - low),
            topic: topic,
            pushType: pushType,
            priority: Priority.allCases[Int(number) % 3],
            expiration: .at(Moment(milliseconds: 1_800_000_000_000 + number)),
            collapseIdentifier: collapse,
            payload: (0..<payloadBytes).map { UInt8(truncatingIfNeeded: $0 + Int(number)) },
            acceptedAt: Moment(milliseconds: 1_700_000_000_000 - number), traceContext: traceContext
        )
    )
}

/// Returns every field of a queued notification, for comparison.
func fields(_ queued: QueuedNotification) -> [AnyHashable] {
    let it = queued.notification
    return [
        queued.row, it.identity, it.device, it.registration, it.topic, it.pushType, it.priority,
        it.expiration,
        it.collapseIdentifier, it.payload, it.acceptedAt, it.traceContext,
    ]
}

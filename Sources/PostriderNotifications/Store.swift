/// The number of a notification's row in the queue. Rows are numbered by one rising counter, so the queue is
/// append-only.
public struct QueueRow: Hashable, Comparable, Sendable {
    /// The number, from 1.
    public let value: Int64

    /// Creates a row number from its value.
    public init(_ value: Int64) { self.value = value }

    /// Orders earlier rows first.
    public static func < (left: Self, right: Self) -> Bool { left.value < right.value }
}

/// A notification with its row.
public struct QueuedNotification: Sendable {
    /// The row of the notification.
    public let row: QueueRow
    /// The notification.
    public let notification: Notification

    /// Creates the pair of row and notification.
    public init(row: QueueRow, notification: Notification) {
        self.row = row
        self.notification = notification
    }
}

/// What the memory holds of a stored notification: everything that the device's shard needs to order, collapse and
/// expire it, without the payload.
public struct QueueEntry: Hashable, Sendable {
    /// The row of the notification.
    public let row: QueueRow
    /// The addressed device.
    public let device: DeviceIdentity
    /// The addressed registration.
    public let registration: RegistrationNumber
    /// Its collapse key among the device's pending notifications.
    public let slot: Slot
    /// Its priority.
    public let priority: Priority
    private let acceptedSecond: UInt32
    /// The moment after which it is not delivered.
    public let expiresAt: Moment

    /// When it was accepted, rounded down to the second.
    public var acceptedAt: Moment { Moment(seconds: Int64(acceptedSecond)) }

    /// Creates an entry from its parts.
    public init(
        row: QueueRow,
        device: DeviceIdentity,
        registration: RegistrationNumber,
        slot: Slot,
        priority: Priority,
        acceptedAt: Moment,
        expiresAt: Moment
    ) {
        self.row = row
        self.device = device
        self.registration = registration
        self.slot = slot
        self.priority = priority
        acceptedSecond = acceptedAt.wholeSeconds
        self.expiresAt = expiresAt
    }
}

extension QueueEntry {
    /// Creates the entry of a notification. Returns nil for one with ``Expiration/nowOrNever``, which is never
    /// stored.
    public init(row: QueueRow, notification: Notification) {
        guard case .at(let expiresAt) = notification.expiration else {
            preconditionFailure("a notification that is never stored has no row")
        }
        self.init(
            row: row,
            device: notification.device,
            registration: notification.registration,
            slot: notification.slot,
            priority: notification.priority,
            acceptedAt: notification.acceptedAt,
            expiresAt: expiresAt
        )
    }
}

/// The changes to the queue in one ledger transaction. Rows are removed before notifications are appended.
public struct QueueBatch: Sendable {
    /// The notifications to append, each with expiration ``Expiration/at(_:)``, because others are never stored.
    public var enqueued: [QueuedNotification] = []
    /// The rows to remove. It is no error if one does not exist.
    public var settled: [QueueRow] = []
    /// The changes of receipts, in order.
    public var receipts: [ReceiptChange] = []

    /// Creates an empty batch.
    public init() {}

    /// Whether the batch has no changes.
    public var isEmpty: Bool { enqueued.isEmpty && settled.isEmpty && receipts.isEmpty }
}

/// The interface of a storage engine for the registry and the queue of pending notifications.
///
/// Only the ledger's thread calls a store. Calls are batched and complete asynchronously, so that an engine can
/// pipeline them; an engine that does not (SQLite) completes before the call returns. A completion is called exactly
/// once, on the calling thread. After success, the change survives a power failure.
public protocol Store: AnyObject {
    /// Returns everything in the registry: token secrets in the order of their addition, everything else in the byte
    /// order of its key. Called once, at start.
    func loadRegistry() throws(StoreError) -> Registry

    /// Visits the entry of every stored notification in the order of rows, and returns the last row ever used (0 if
    /// there is none), so that row numbers are never reused. A store that several processes may use one after another
    /// returns a greater number, below which all rows of earlier processes are. Called once, at start.
    func scanQueue(_ visit: (QueueEntry) -> Void) throws(StoreError) -> QueueRow

    /// Returns all receipts in the order of rows. Called once, at start.
    func loadReceipts() throws(StoreError) -> [Receipt]

    /// Applies changes to the registry in order, all or none. If another process has taken the store over, this and
    /// ``commit(_:completion:)`` fail (``StoreError/Kind/fenced``).
    func apply(_ changes: [RegistryChange], completion: @escaping (Result<Void, StoreError>) -> Void)

    /// Applies a batch to the queue, all or nothing. It fails if a row number is in use
    /// (``StoreError/Kind/conflict``).
    func commit(_ batch: QueueBatch, completion: @escaping (Result<Void, StoreError>) -> Void)

    /// Returns the notifications of these rows in the given order, without those that do not exist.
    func read(_ rows: [QueueRow], completion: @escaping (Result<[QueuedNotification], StoreError>) -> Void)

    /// Holds everything that is committed now, registry and queue at the same moment, so that it can be copied while
    /// the store goes on. There is one at a time (``StoreError/Kind/busy``).
    func snapshot() throws(StoreError) -> any StoreSnapshot

    /// Does maintenance that may take time. It is called after the callers that waited for the last change were told.
    func maintain()

    /// Does one step of a preparation that makes later changes faster. It is called while the store is idle. Returns
    /// false if nothing is left to prepare.
    func prepare() -> Bool

    /// Closes the store in order. No call may follow.
    func close()

    /// Adds a token secret if there is none, and returns those that there are then. Several nodes of a cluster may call
    /// this at the same time: one of their secrets is added, and all of them get that one.
    func addFirstTokenSecret(
        _ drawn: [UInt8], completion: @escaping (Result<[[UInt8]], StoreError>) -> Void)
}

extension Store {
    /// The default does nothing, for a store that is not on a disk.
    public func maintain() {}

    /// The default looks first and adds then, for a store that no other thread changes meanwhile.
    public func addFirstTokenSecret(
        _ drawn: [UInt8], completion: @escaping (Result<[[UInt8]], StoreError>) -> Void
    ) {
        do throws(StoreError) {
            let found = try loadRegistry().tokenSecrets
            guard found.isEmpty else { return completion(.success(found)) }
            apply([.addTokenSecret(drawn)]) { result in completion(result.map { [drawn] }) }
        } catch {
            completion(.failure(error))
        }
    }

    /// The default has nothing to prepare.
    public func prepare() -> Bool { false }

    /// The default throws, because a store that is not on a disk has nothing to copy.
    public func snapshot() throws(StoreError) -> any StoreSnapshot {
        throw StoreError(.unusable, "This store is not on a disk: there is nothing to copy.")
    }
}

/// The content of a store at one moment.
public protocol StoreSnapshot: AnyObject, Sendable {
    /// Writes the content to a new directory, in which a store can be opened. It can be called once, on any thread.
    /// The directory gets its name only when it is complete and durable.
    func copy(to directory: String) throws(StoreError)
}

/// A failure of the relay's own storage. The relay answers 503, counts it and goes on.
public struct StoreError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of a failure.
    public enum Kind: Hashable, Sendable {
        /// The file cannot be opened or belongs to another program.
        case unusable
        /// No space is left.
        case full
        /// The disk failed to write or to sync. The change is not durable.
        case inputOutput
        /// Another process holds the database.
        case busy
        /// The database's server cannot be reached, or accepts no changes now. Nothing was written.
        case unreachable
        /// Another process has taken this store over, so this one may not change it any more. Nothing was written.
        case fenced
        /// The change is about a device of a partition that this node of a cluster does not have. Nothing was written.
        case misplaced
        /// The change contradicts the existing content, such as a row number or the name of a copy that is in use.
        case conflict
        /// An enrolment key has no uses left. Nothing was written.
        case usedUp
    }

    /// The kind of the failure.
    public let kind: Kind
    /// One sentence: what was wrong, where, and what to do.
    public let description: String

    /// Creates an error from its parts.
    public init(_ kind: Kind, _ description: String) {
        self.kind = kind
        self.description = description
    }
}

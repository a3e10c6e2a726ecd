/// Where a notification lies in the queue: drawn from one rising counter, so that the queue is append-only.
public struct QueueRow: Hashable, Comparable, Sendable {
    /// The number, from 1.
    public let value: Int64

    /// A row number.
    public init(_ value: Int64) { self.value = value }

    /// Earlier rows come first.
    public static func < (left: Self, right: Self) -> Bool { left.value < right.value }
}

/// A notification at its row.
public struct QueuedNotification: Sendable {
    /// Where it lies.
    public let row: QueueRow
    /// What lies there.
    public let notification: Notification

    /// A notification at its row.
    public init(row: QueueRow, notification: Notification) {
        self.row = row
        self.notification = notification
    }
}

/// What the memory holds of a stored notification: everything that the home needs to order, collapse and
/// expire it, but not its payload.
public struct QueueEntry: Hashable, Sendable {
    /// Where it lies.
    public let row: QueueRow
    /// The addressed device.
    public let device: DeviceIdentity
    /// The addressed registration.
    public let registration: RegistrationNumber
    /// Its place among the device's pending notifications.
    public let slot: Slot
    /// Its priority.
    public let priority: Priority
    private let acceptedSecond: UInt32
    /// The moment after which it is not delivered.
    public let expiresAt: Moment

    /// When it was accepted, to the second.
    public var acceptedAt: Moment { Moment(seconds: Int64(acceptedSecond)) }

    /// An entry from its parts.
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
    /// The entry of a notification at its row. One with ``Expiration/nowOrNever`` is never stored and has
    /// none.
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

/// What one ledger transaction does to the queue. Rows are settled before notifications are enqueued.
public struct QueueBatch: Sendable {
    /// Notifications to append, each with expiration ``Expiration/at(_:)``; one that never is stored has no
    /// row.
    public var enqueued: [QueuedNotification] = []
    /// Rows to remove; one that is not there is no error.
    public var settled: [QueueRow] = []

    /// An empty batch.
    public init() {}

    /// Whether there is nothing to do.
    public var isEmpty: Bool { enqueued.isEmpty && settled.isEmpty }
}

/// The seam behind which a storage engine stands: the registry, and the queue of notifications that wait.
///
/// One thread, the ledger's, calls a store. It is batched and completes asynchronously, so that an engine
/// that pipelines fits; an engine that does not (SQLite) completes before the call returns. A completion is
/// called exactly once, on the calling thread. When it succeeds, the change survives power loss.
public protocol Store: AnyObject {
    /// Everything in the registry: token secrets in the order of their addition, everything else in the order
    /// of the bytes of its key. Called once, at start-up.
    func loadRegistry() throws(StoreError) -> Registry

    /// Visits the entry of every stored notification in the order of rows, and answers the last row ever used
    /// (0 where there is none), so that row numbers never return. Called once, at start-up.
    func scanQueue(_ visit: (QueueEntry) -> Void) throws(StoreError) -> QueueRow

    /// Applies changes to the registry in order, all or none.
    func apply(_ changes: [RegistryChange], completion: @escaping (Result<Void, StoreError>) -> Void)

    /// Applies a batch to the queue, all or nothing. A row number that is taken fails it
    /// (``StoreError/Kind/conflict``).
    func commit(_ batch: QueueBatch, completion: @escaping (Result<Void, StoreError>) -> Void)

    /// The notifications at these rows, in the order asked for; a row that is not there is left out.
    func read(_ rows: [QueueRow], completion: @escaping (Result<[QueuedNotification], StoreError>) -> Void)

    /// Holds on to everything that is committed now, registry and queue at the same moment, so that it can be
    /// copied while the store goes on. One at a time (``StoreError/Kind/busy``).
    func snapshot() throws(StoreError) -> any StoreSnapshot

    /// Does what the store has to do for itself, which may take its time: to be called when whoever waited for the last
    /// change has been told.
    func maintain()

    /// Does a piece of what makes later changes quicker, to be called while nobody wants anything. False: nothing is
    /// left of it.
    func prepare() -> Bool

    /// Ends the store's work in good order. Nothing may be called after it.
    func close()
}

extension Store {
    /// A store that is not on a disk has nothing to do for itself.
    public func maintain() {}

    /// Nor anything to prepare.
    public func prepare() -> Bool { false }

    /// A store that is not on a disk has nothing to copy.
    public func snapshot() throws(StoreError) -> any StoreSnapshot {
        throw StoreError(.unusable, "This store is not on a disk: there is nothing to copy.")
    }
}

/// What a store held at one moment.
public protocol StoreSnapshot: AnyObject, Sendable {
    /// Writes it into a new directory that a store can be opened in; once, from any thread. The directory has
    /// its name when it is whole and durable, and not before.
    func copy(to directory: String) throws(StoreError)
}

/// A failure of our own storage: never the provider's fault. The relay answers 503, counts it and goes on.
public struct StoreError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What kind of failure it was.
    public enum Kind: Hashable, Sendable {
        /// The file cannot be opened or is not one of ours.
        case unusable
        /// No room is left.
        case full
        /// The disk failed to write or to sync; what was asked for is not durable.
        case inputOutput
        /// Another process holds the database.
        case busy
        /// What was asked contradicts what is there, as a row number or the name of a copy that is taken already does.
        case conflict
    }

    /// What kind of failure it was.
    public let kind: Kind
    /// One sentence: what was wrong, where, what to do.
    public let description: String

    /// A store error.
    public init(_ kind: Kind, _ description: String) {
        self.kind = kind
        self.description = description
    }
}

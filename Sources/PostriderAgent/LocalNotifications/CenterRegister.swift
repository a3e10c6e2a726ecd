import PostriderCourier
import PostriderNotifications
import PostriderStorage

/// The state of an app's user notification centre, without its notifications.
struct CenterRecord: Equatable {
    /// The decision of the device's owner.
    var status = AuthorizationStatus.notDetermined
    /// The options that the app has asked for so far, as bits of the `.proto`; nil if it has not asked.
    var asked: UInt32?
    /// The categories, which say what the user can do with its notifications.
    var categories: [LocalCategory] = []
    /// Which of the options that the app asks for the owner grants; nil for all.
    var granted: UInt32?
    /// The number on the app's icon.
    var badge: UInt32 = 0

    /// The options that the app has asked for. An app that has named none counts as having asked for those that earlier
    /// agents allowed every app.
    var wishes: NotificationOptions {
        guard status != .notDetermined || asked != nil else { return [] }
        let named = NotificationOptions(rawValue: asked ?? 0).intersection(.grantable)
        return named.isEmpty ? .unnamed : named
    }

    /// The options that the app has now.
    var options: NotificationOptions {
        switch status {
        case .notDetermined, .denied: []
        case .authorized: wishes.intersection(granted.map { NotificationOptions(rawValue: $0) } ?? .grantable)
        case .provisional: wishes.intersection([.alert, .providesSettings])
        }
    }

    /// Whether the app may notify, but not by alerts.
    var isKeptFromAlerting: Bool { status.allowsNotifications && !options.contains(.alert) }

    /// The settings as an app is told them.
    var settings: CenterSettings {
        CenterSettings(status: status, asked: wishes, granted: options, badge: badge)
    }
}

/// The user notification centres of the device's apps, by the apps' numbers: a table on the disk, and a copy of it in
/// memory. An app that has one stays known to the agent when it gives up its registration at the relay.
final class CenterRegister {
    /// All centres.
    private(set) var records: [Int64: CenterRecord] = [:]

    private let insert: Statement
    private let database: Database

    init(_ database: Database) throws(StoreError) {
        self.database = database
        insert = try database.prepare(
            """
            INSERT OR REPLACE INTO centers(app, status, asked, categories, granted, badge)
            VALUES (?, ?, ?, ?, ?, ?)
            """)
        try load()
    }

    static let optionStep = """
        ALTER TABLE centers ADD COLUMN granted INTEGER;
        ALTER TABLE centers ADD COLUMN badge INTEGER NOT NULL DEFAULT 0;
        """

    /// Reads the table.
    func load() throws(StoreError) {
        records = [:]
        let all = try database.prepare(
            "SELECT app, status, asked, categories, granted, badge FROM centers")
        while try all.step() {
            let categories = all.withBytes(3) { bytes in try? LocalCategory.list(decoding: bytes) }
            guard let categories else {
                throw StoreError(
                    .unusable,
                    "\(database.path) is damaged (app \(all.integer(0))): put a backup in its place."
                )
            }
            records[all.integer(0)] = CenterRecord(
                status: UInt8(exactly: all.integer(1)).flatMap(AuthorizationStatus.init(rawValue:))
                    ?? .notDetermined,
                asked: all.isNull(2) ? nil : UInt32(truncatingIfNeeded: all.integer(2)),
                categories: categories,
                granted: all.isNull(4) ? nil : UInt32(truncatingIfNeeded: all.integer(4)),
                badge: UInt32(truncatingIfNeeded: all.integer(5)))
        }
    }

    /// The centre of the app with this number; nil if it has none.
    subscript(app: Int64) -> CenterRecord? { records[app] }

    /// Forgets a centre that has been removed from the disk.
    func forget(_ app: Int64) { records[app] = nil }

    /// Replaces the state of an app's centre.
    func put(_ record: CenterRecord, of app: Int64) throws(StoreError) {
        guard records[app] != record else { return }
        var categories: [UInt8] = []
        LocalCategory.encode(record.categories, into: &categories)
        insert.bind(app)
        insert.bind(Int64(record.status.rawValue))
        insert.bind(record.asked.map { Int64($0) })
        insert.bind(categories)
        insert.bind(record.granted.map { Int64($0) })
        insert.bind(Int64(record.badge))
        try insert.run()
        records[app] = record
    }
}

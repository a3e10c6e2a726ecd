import PostriderCourier
import PostriderNotifications
import PostriderStorage

/// What an agent keeps across restarts: the identity of the device, its apps, and their inbox. One SQLite file in a
/// directory that only this process uses.
///
/// Thread-confined. A change is durable when the method that made it returns. After the disk has failed, nothing is
/// changed until the file is opened again; everything can still be read.
final class AgentState {
    /// The apps that have registered.
    let apps: AppRegister
    /// The user notification centres of the apps.
    let centers: CenterRegister
    /// The local notifications of the apps.
    let schedule: NotificationSchedule
    /// The channels of the apps.
    let channels: ChannelRegister
    /// The messages that wait for the apps.
    let inbox: Inbox
    /// The alerts that wait to be shown or are shown.
    let alerts: AlertRegister
    /// What users are to be shown or asked at the end of the turn.
    let presentation: PresentationQueue
    /// The messages that the apps could not handle.
    let deadLetters: DeadLetters
    /// The processes that the agent has started.
    let processes: ProcessRegister
    /// Decisions about apps that have never attached, and how often users were asked.
    let consents: ConsentRegister
    /// The reports that the relay has not confirmed.
    let reports: ReportRegister
    /// The setting of the clock and the time zone by which the times of local notifications were last computed.
    let clock: ClockRegister

    /// The registrations of UnifiedPush.
    var connectors: ConnectorRegister { trusted.file.connectors }

    /// How many transactions have been committed.
    var commits: Int { database.commits }

    /// The length of the write-ahead log, in pages, when it could last not be copied.
    private var uncopiedPages: Int?

    private let directory: OwnedDirectory
    let trusted: TrustedFile<AgentFile>
    private var database: Database { trusted.file.database }

    /// Opens the state, and creates it if there is none.
    init(directory path: String, log: Log) throws(StoreError) {
        directory = try OwnedDirectory(path, log: log)
        trusted = try TrustedFile(path: path + "/agent.sqlite", thresholdPages: nil, log: log)
        let file = trusted.file
        apps = file.apps
        centers = file.centers
        schedule = file.schedule
        channels = file.channels
        deadLetters = file.deadLetters
        inbox = file.inbox
        alerts = file.alerts
        presentation = file.presentation
        processes = file.processes
        consents = file.consents
        reports = file.reports
        clock = file.clock
    }

    /// Whether the disk has failed, so that nothing is changed until ``renew()`` succeeds.
    var needsRenewal: Bool { trusted.needsRenewal }

    /// Opens the file again and writes what its write-ahead log holds once more, now that the disk may work again.
    func renew() throws(StoreError) { try trusted.renew() }

    /// The identity that the relay gave the device; nil before it has enrolled.
    func device() throws(StoreError) -> EnrollResponse? {
        let statement = try database.prepare("SELECT identity, secret FROM device")
        defer { statement.reset() }
        guard try statement.step() else { return nil }
        let secret = statement.bytes(1)
        guard let identity = DeviceIdentity(bytes: statement.bytes(0)),
            secret.count == Limits.deviceSecretBytes
        else {
            throw StoreError(
                .unusable, "\(database.path) is damaged (no device identity): put a backup in its place.")
        }
        return EnrollResponse(deviceIdentity: identity, deviceSecret: secret)
    }

    /// Stores the identity of the device. Reports of an earlier identity are removed: a relay takes a report only from
    /// the device to which it has sent the push.
    func setDevice(_ device: EnrollResponse) throws(StoreError) {
        let statement = try database.prepare("INSERT OR REPLACE INTO device VALUES (1, ?, ?)")
        try database.transaction { () throws(StoreError) in
            statement.bind(device.deviceIdentity.bytes)
            statement.bind(device.deviceSecret)
            try statement.run()
            try reports.remove(upTo: .max)
        }
    }

    /// Drops everything that waits for an app or was scheduled by it. Its registration stays until the relay has ended
    /// it.
    func clear(_ record: AppRecord) throws(StoreError) {
        try database.transaction { () throws(StoreError) in
            for table in ["inbox", "dead_letters", "notices", "centers", "alerts"] {
                try database.execute("DELETE FROM \(table) WHERE app = \(record.number)")
            }
        }
        centers.forget(record.number)
        inbox.messagesWereRemoved(of: record.number)
    }

    /// Copies the write-ahead log into the database if it is longer than its bound, or could not grow. A log that could
    /// not be copied is not tried again until it has grown, or `isAnotherAttempt` is set.
    ///
    /// - Returns: whether it still has to be copied.
    @discardableResult
    func boundLog(isAnotherAttempt: Bool = false) -> Bool {
        if database.makeRoom() { uncopiedPages = nil }
        let pages = database.logPages
        guard pages > Limits.logPages || database.isTight || uncopiedPages != nil else { return false }
        guard isAnotherAttempt || pages != uncopiedPages else { return true }
        let isCopied = (try? database.checkpoint()) ?? false
        uncopiedPages = isCopied ? nil : pages
        return !isCopied
    }

    /// Runs `body` in one transaction: either all of its changes are durable when this returns, or nothing has changed.
    func transaction(_ body: () throws(StoreError) -> Void) throws(StoreError) {
        try database.transaction(body)
    }
}

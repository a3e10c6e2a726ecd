import PostriderCourier
import PostriderNotifications
import PostriderStorage

/// What an agent keeps across restarts: who the device is, its apps, and their inbox. One SQLite file in a directory
/// that belongs to this process alone.
///
/// Thread-confined. Whatever a verb here has changed survives power loss when the verb returns. Where the disk has
/// failed under it nothing is changed any more, and everything can be read, until it is opened anew.
final class AgentState {
    /// The apps that have registered.
    let apps: AppRegister
    /// Their user notification centres.
    let centers: CenterRegister
    /// Their local notifications.
    let timetable: NotificationSchedule
    /// Their channels.
    let channels: ChannelRegister
    /// What has arrived for them.
    let inbox: Inbox
    /// What there is of it for users to see.
    let alerts: AlertRegister
    /// What they could not handle.
    let deadLetters: DeadLetters
    /// The processes of those that the agent has started.
    let processes: ProcessRegister
    /// What was decided before they came, and what users were asked.
    let consents: ConsentRegister
    /// By which clock their moments were written.
    let clock: ClockRegister

    /// Told at the end of each transaction whether its changes are made.
    var whenTransactionEnds: ((_ isCommitted: Bool) -> Void)? {
        get { database.whenTransactionEnds }
        set { database.whenTransactionEnds = newValue }
    }

    /// How many transactions have been committed.
    var commits: Int { database.commits }

    /// How many pages the log had when it could not be copied.
    private var uncopiedPages: Int?

    private let directory: OwnedDirectory
    let trusted: TrustedFile<AgentFile>
    private var database: Database { trusted.file.database }

    /// Opens the state, and makes it where there is none.
    init(directory path: String, log: Log) throws(StoreError) {
        directory = try OwnedDirectory(path, log: log)
        trusted = try TrustedFile(path: path + "/agent.sqlite", thresholdPages: nil, log: log)
        let file = trusted.file
        apps = file.apps
        centers = file.centers
        timetable = file.timetable
        channels = file.channels
        deadLetters = file.deadLetters
        inbox = file.inbox
        alerts = file.alerts
        processes = file.processes
        consents = file.consents
        clock = file.clock
    }

    /// Whether the disk has failed, and nothing is changed before ``renew()`` has succeeded.
    var needsRenewal: Bool { trusted.needsRenewal }

    /// Opens the file anew and writes once more what its log holds, now that the disk may be well again.
    func renew() throws(StoreError) { try trusted.renew() }

    /// What the relay answered when the device enrolled; nil before that.
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

    /// Keeps who the device is from now on.
    func setDevice(_ device: EnrollResponse) throws(StoreError) {
        let statement = try database.prepare("INSERT OR REPLACE INTO device VALUES (1, ?, ?)")
        statement.bind(device.deviceIdentity.bytes)
        statement.bind(device.deviceSecret)
        try statement.run()
    }

    /// Drops all that waits for an app and all that it has asked for; what the relay knows of it stays to be ended.
    func clear(_ record: AppRecord) throws(StoreError) {
        try database.transaction { () throws(StoreError) in
            for table in ["inbox", "dead_letters", "notices", "centers", "alerts"] {
                try database.execute("DELETE FROM \(table) WHERE app = \(record.number)")
            }
        }
        centers.forget(record.number)
    }

    /// Copies the log into the file if it has grown beyond its bound, or could not grow. A log that cannot be copied is
    /// left alone until it has grown, or until `isAnotherAttempt`.
    ///
    /// - Returns: whether it still waits to be copied.
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

    /// Runs the body in one transaction: all that it changes is safe when this returns, or nothing is changed.
    func transaction(_ body: () throws(StoreError) -> Void) throws(StoreError) {
        try database.transaction(body)
    }
}

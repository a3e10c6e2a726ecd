import PostriderNotifications
import PostriderStorage

/// The agent's database file, with the tables in it.
final class AgentFile: DatabaseFile {
    let database: Database
    let apps: AppRegister
    let centers: CenterRegister
    let schedule: NotificationSchedule
    let channels: ChannelRegister
    let deadLetters: DeadLetters
    let alerts: AlertRegister
    let presentation: PresentationQueue
    let inbox: Inbox
    let processes: ProcessRegister
    let consents: ConsentRegister
    let reports: ReportRegister
    let clock: ClockRegister
    let connectors: ConnectorRegister

    init(path: String) throws(StoreError) {
        database = try Database(path: path, schema: Self.schema)
        apps = try AppRegister(database)
        centers = try CenterRegister(database)
        schedule = try NotificationSchedule(database)
        channels = try ChannelRegister(database)
        deadLetters = try DeadLetters(database)
        alerts = try AlertRegister(database)
        presentation = PresentationQueue(database, centers: centers, alerts: alerts, schedule: schedule)
        inbox = try Inbox(database, deadLetters: deadLetters, presentation: presentation)
        processes = try ProcessRegister(database)
        consents = try ConsentRegister(database)
        reports = try ReportRegister(database)
        clock = try ClockRegister(database)
        connectors = try ConnectorRegister(database)
        // Both keep the database, and end with it.
        database.whenTransactionEnds = { [unowned inbox, unowned presentation] isCommitted in
            inbox.transactionEnded(isCommitted)
            presentation.transactionEnded(isCommitted)
        }
    }

    func reload() throws(StoreError) {
        try apps.load()
        try centers.load()
        try processes.load()
        try consents.load()
        try connectors.load()
        inbox.fileWasOpened()
    }

    static let schema = Schema(
        applicationIdentifier: 0x5072_4167,  // "PrAg"
        steps: [
            """
            CREATE TABLE device(
                one INTEGER PRIMARY KEY CHECK (one = 1), identity BLOB NOT NULL, secret BLOB NOT NULL
            ) STRICT;
            CREATE TABLE apps(
                number INTEGER PRIMARY KEY AUTOINCREMENT, topic TEXT NOT NULL UNIQUE, user INTEGER NOT NULL,
                token BLOB, is_wanted INTEGER NOT NULL
            ) STRICT;
            CREATE TABLE seen(
                row INTEGER PRIMARY KEY AUTOINCREMENT, app INTEGER NOT NULL, identity BLOB NOT NULL,
                received_at INTEGER NOT NULL
            ) STRICT;
            CREATE UNIQUE INDEX seen_identities ON seen(app, identity);
            CREATE INDEX seen_order ON seen(app);
            CREATE TABLE inbox(
                row INTEGER PRIMARY KEY, app INTEGER NOT NULL, priority INTEGER NOT NULL,
                message BLOB NOT NULL
            ) STRICT;
            CREATE INDEX inbox_order ON inbox(app);
            """,
            // Registrations got an environment; earlier ones are in production.
            "ALTER TABLE apps ADD COLUMN environment TEXT NOT NULL DEFAULT 'production'",
            NotificationSchedule.schemaStep,
            ChannelRegister.schemaStep,
            DeadLetters.schemaStep + ProcessRegister.schemaStep,
            AlertRegister.schemaStep,
            "ALTER TABLE seen DROP COLUMN received_at",
            Inbox.collapseStep,
            ConsentRegister.schemaStep,
            ClockRegister.schemaStep,
            // Entries of earlier versions have no content: those compared pushes by their identity alone.
            """
            ALTER TABLE seen ADD COLUMN content BLOB;
            ALTER TABLE seen ADD COLUMN push INTEGER NOT NULL DEFAULT 0;
            ALTER TABLE alerts ADD COLUMN reported BLOB;
            """,
            CenterRegister.optionStep + AlertRegister.changeStep,
            ConsentRegister.optionStep,
            ReportRegister.schemaStep,
            ConnectorRegister.schemaStep,
            ReportRegister.tookStep,
        ])
}

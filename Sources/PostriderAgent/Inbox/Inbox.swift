import PostriderCourier
import PostriderCrypto
import PostriderNotifications
import PostriderStorage

/// Notifications that are stored on the device and that no app has handled yet, and the identities of earlier ones.
///
/// Every new identity of an app gets a row number. The message is stored under that number until the app has handled
/// it; the identity is kept longer, so that a late copy is recognised. A push with a known `apns-id` but other content
/// is not a copy: it gets an identity of its own.
final class Inbox {
    /// What was stored of late, so that it need not be read.
    private var latest = LatestMessages()

    private let database: Database
    private let deadLetters: DeadLetters
    private let presentation: PresentationQueue
    private let see: Statement
    private let recall: Statement
    private let note: Statement
    private let replace: [Statement]
    private let append: Statement
    private let remove: Statement
    private let count: Statement
    private let drop: Statement
    private let forget: Statement
    private let pending: Statement

    /// Adds the collapse identifier, by which a newer message replaces an older one. Rows from before this step have
    /// none, and are handed over.
    static let collapseStep = """
        ALTER TABLE inbox ADD COLUMN collapse TEXT;
        ALTER TABLE dead_letters ADD COLUMN collapse TEXT;
        CREATE INDEX inbox_collapse ON inbox(app, kind, collapse) WHERE collapse IS NOT NULL;
        """

    /// - Parameter presentation: gets the messages that are stored, to show those that are alerts.
    init(
        _ database: Database, deadLetters: DeadLetters, presentation: PresentationQueue
    ) throws(StoreError) {
        self.database = database
        self.deadLetters = deadLetters
        self.presentation = presentation
        see = try database.prepare(
            """
            INSERT INTO seen(app, identity, content, push) VALUES (?, ?, ?, ?)
            ON CONFLICT DO NOTHING RETURNING row
            """)
        recall = try database.prepare(
            """
            SELECT content, push, message FROM seen LEFT JOIN inbox USING (row)
            WHERE seen.app = ? AND identity = ?
            """)
        note = try database.prepare("UPDATE subscriptions SET last = ? WHERE app = ? AND channel = ?")
        let replace = { (table: String) throws(StoreError) in
            try database.prepare(
                "DELETE FROM \(table) WHERE app = ? AND kind = ? AND collapse = ? RETURNING row, message")
        }
        self.replace = [try replace("inbox"), try replace("dead_letters")]
        append = try database.prepare(
            "INSERT INTO inbox(row, app, priority, message, kind, collapse) VALUES (?, ?, ?, ?, ?, ?)")
        remove = try database.prepare("DELETE FROM inbox WHERE row = ?")
        count = try database.prepare("SELECT count(*) FROM inbox WHERE app = ?")
        drop = try database.prepare(
            """
            DELETE FROM inbox WHERE row IN (
                SELECT row FROM inbox WHERE app = ? ORDER BY priority, row LIMIT ?)
            """)
        forget = try database.prepare(
            """
            DELETE FROM seen WHERE app = ?1 AND row <= (
                SELECT row FROM seen WHERE app = ?1 ORDER BY row DESC LIMIT 1 OFFSET ?2)
            """)
        pending = try database.prepare(
            "SELECT row, message, kind, attempts FROM inbox WHERE app = ? AND row > ? ORDER BY row")
    }

    /// Stores arrivals, removes handled rows and counts failures in one transaction: either all of it is committed, or
    /// nothing has changed. A row that does not exist is not an error.
    ///
    /// - Parameter within: is given the outcome before it is committed, and may add to the transaction.
    func commit(
        _ arrivals: [Arrival], handled: [Int64], failures: [Failure] = [],
        mostAttempts: Int = Limits.deliveryAttempts.usual, now: Moment,
        within: (Outcome) throws(StoreError) -> Void = { (_) throws(StoreError) in }
    ) throws(StoreError) -> Outcome {
        var outcome = Outcome()
        try database.transaction { () throws(StoreError) in
            for row in handled {
                remove.bind(row)
                try remove.run()
            }
            outcome = try store(arrivals, at: now)
            for var failure in failures {
                let count = try deadLetters.fail(
                    failure.row, reason: failure.reason, mostAttempts: mostAttempts, now: now)
                guard let count else {
                    outcome.gone.append(failure.row)
                    continue
                }
                failure.attempts = count.attempts
                if count.isDead { outcome.dead.append(failure) } else { outcome.again.append(failure) }
            }
            try within(outcome)
        }
        return outcome
    }

    /// Stores arrivals, within a transaction of the caller.
    func store(_ arrivals: [Arrival], at now: Moment) throws(StoreError) -> Outcome {
        var outcome = Outcome()
        for arrival in arrivals {
            try store(arrival, at: now, &outcome)
        }
        for app in Set(arrivals.map(\.app)) {
            let count = try bound(app)
            if count > 0 { outcome.dropped[app] = count }
        }
        // Which rows of a full inbox were dropped is not known: those of its app are read.
        let (replaced, dropped) = (Set(outcome.replaced.map(\.row)), outcome.dropped)
        latest.forget { replaced.contains($0.row) || dropped[$0.app] != nil }
        return outcome
    }

    /// A transaction has been committed or rolled back.
    func transactionEnded(_ isCommitted: Bool) { latest.transactionEnded(isCommitted) }

    /// Returns what was stored and committed since the last call and is still there, so that it need not be read.
    func takeStored() -> [Stored] { latest.take() }

    /// The messages of an app were removed.
    func messagesWereRemoved(of app: Int64) { latest.forget { $0.app == app } }

    /// Visits the messages that wait for an app after a row, in order, until `body` returns false.
    func forEachPending(
        of app: Int64, after row: Int64, _ body: (_ row: Int64, _ parcel: InboxContent) -> Bool
    ) throws(StoreError) {
        pending.bind(app)
        pending.bind(row)
        defer { pending.reset() }
        while try pending.step() {
            let kind = pending.integer(2)
            let parcel = pending.withBytes(1) { bytes in try? InboxContent(kind: kind, decoding: bytes) }
            guard let parcel else {
                throw StoreError(
                    .unusable,
                    "\(database.path) is damaged (row \(pending.integer(0))): put a backup in its place.")
            }
            guard body(pending.integer(0), parcel) else { return }
        }
    }

    /// The file was opened again. What a transaction has stored that seemed to fail may be there now.
    func fileWasOpened() { latest.fileWasOpened() }

    /// A number that grows with every message that is stored for an app, and when the file is opened again: while it
    /// has not changed, there is nothing new to read.
    func storedCount(of app: Int64) -> Int { latest.counts[app] ?? 0 }

    /// How many messages wait for an app.
    func count(of app: Int64) throws(StoreError) -> Int {
        count.bind(app)
        var waiting = 0
        while try count.step() { waiting = Int(count.integer(0)) }
        return waiting
    }

    /// How often each of an app's rows has failed.
    func attempts(of app: Int64) throws(StoreError) -> [Int64: Int] {
        pending.bind(app)
        pending.bind(0)
        defer { pending.reset() }
        var attempts: [Int64: Int] = [:]
        while try pending.step() { attempts[pending.integer(0)] = Int(pending.integer(3)) }
        return attempts
    }

    /// Stores an arrival that is new.
    private func store(
        _ arrival: Arrival, at now: Moment, _ outcome: inout Outcome
    ) throws(StoreError) {
        guard case .remote(let deliver) = arrival.parcel else {
            let row = try see(arrival.parcel.identity, of: arrival.app, content: nil, push: 0)
            return try store(arrival, in: row, at: now, &outcome)
        }
        if let channel = deliver.channel {
            note.bind(SubscribedBroadcast(deliver).bytes)
            note.bind(arrival.app)
            note.bind(channel.bytes)
            try note.run()
        }
        let content = deliver.content
        if let row = try see(deliver.identity, of: arrival.app, content: content, push: deliver.push) {
            return try store(arrival, in: row, at: now, &outcome)
        }
        var known = try recalled(deliver.identity, of: arrival.app)
        if known.content != content.bytes {
            // Another push with the same `apns-id`, or perhaps one that an earlier version has seen: it is better to
            // hand it over twice than not at all.
            let other = deliver.renamed(by: content)
            let row = try see(other.identity, of: arrival.app, content: content, push: deliver.push)
            if let row {
                let renamed = Arrival(app: arrival.app, parcel: .remote(other))
                return try store(renamed, in: row, at: now, &outcome)
            }
            known = try recalled(other.identity, of: arrival.app)
        }
        outcome.repeated += 1
        // With the same number it is the same push, sent again because the link was lost before the acknowledgement.
        if let push = arrival.parcel.reported, push.push != 0, known.push != 0, push.push != known.push {
            outcome.merged.append(MergedPush(push: push, other: known.push))
        }
    }

    /// The row number for a new identity; nil if the identity is known.
    private func see(
        _ identity: NotificationIdentity, of app: Int64, content: SHA256Digest?, push: UInt64
    ) throws(StoreError) -> Int64? {
        see.bind(app)
        see.bind(identity.bytes)
        if let content { see.bind(content.bytes) } else { see.bindNull() }
        see.bind(Int64(bitPattern: push))
        var row: Int64?
        while try see.step() { row = see.integer(0) }
        return row
    }

    /// What is stored about a known push: its content, and the relay's number for it. Nil if an earlier version has
    /// stored it, so that its content is unknown.
    private func recalled(
        _ identity: NotificationIdentity, of app: Int64
    ) throws(StoreError) -> (content: [UInt8]?, push: UInt64) {
        recall.bind(app)
        recall.bind(identity.bytes)
        var known: (content: [UInt8]?, push: UInt64) = (nil, 0)
        while try recall.step() {
            known.push = UInt64(bitPattern: recall.integer(1))
            if !recall.isNull(0) {
                known.content = recall.bytes(0)
            } else if !recall.isNull(2) {
                // An earlier version has stored it, and it still waits.
                known.content = recall.withBytes(2) { bytes in try? Deliver(decoding: bytes) }?.content.bytes
            }
        }
        return known
    }

    private func store(
        _ arrival: Arrival, in row: Int64?, at now: Moment, _ outcome: inout Outcome
    ) throws(StoreError) {
        guard let row else {
            outcome.repeated += 1
            return
        }
        outcome.stored += 1
        if let collapse = arrival.parcel.collapse {
            outcome.replaced += try makeWay(for: arrival, collapse)
        }
        append.bind(row)
        append.bind(arrival.app)
        append.bind(Int64(arrival.parcel.priority.rawValue))
        append.bind(arrival.parcel.bytes)
        append.bind(arrival.parcel.kind)
        append.bind(arrival.parcel.collapse)
        try append.run()
        latest.add(Stored(row: row, app: arrival.app, parcel: arrival.parcel))
        try presentation.store(arrival, at: now)
    }

    /// Removes what an arrival replaces: waiting messages and dead letters. A message that is under way to the app is
    /// not recalled; but if the app fails, it is not handed over again. The relay does the same with what is in flight.
    private func makeWay(for arrival: Arrival, _ collapse: String) throws(StoreError) -> [Replaced] {
        var replaced: [Replaced] = []
        for statement in replace {
            statement.bind(arrival.app)
            statement.bind(arrival.parcel.kind)
            statement.bind(collapse)
            while try statement.step() {
                let kind = arrival.parcel.kind
                let older = statement.withBytes(1) { bytes in try? InboxContent(kind: kind, decoding: bytes) }
                replaced.append(Replaced(row: statement.integer(0), reported: older?.reported))
            }
        }
        return replaced
    }

    /// Drops messages of an app above its bound. Returns how many.
    private func bound(_ app: Int64) throws(StoreError) -> Int {
        forget.bind(app)
        forget.bind(Int64(Limits.seenPerTopic))
        try forget.run()
        let excess = try count(of: app) - Limits.inboxPerTopic
        guard excess > 0 else { return 0 }
        drop.bind(app)
        drop.bind(Int64(excess))
        try drop.run()
        return excess
    }
}

import PostriderCourier
import PostriderNotifications

/// A device's place at its home: the device, the connection that it keeps open, and its requests to the
/// registry, which are worked off one after the other.
final class DeviceEntry {
    /// What a device asks of the registry; the topic is text as it came.
    enum Request {
        case register(String, Environment)
        case unregister(String)
        case subscribe(Subscribe)
        case unsubscribe(ChannelIdentity)
    }

    var device: Device
    /// The connection, once it has been welcomed; nil while the device is away.
    var session: DeviceSession?
    /// Requests that have not been answered; the first is with the ledger.
    var requests: [(request: Request, session: DeviceSession)] = []
    /// Detects clones; nil until a connection is replaced. Boxed, because most devices never need it.
    private var clones: CloneBox?
    /// How soon it acknowledges.
    var promptness = AckLatency()
    /// What it may report to the trace.
    var unreported = ReportAllowance()
    /// When it was seen last, in seconds since 1970; the registry learns of it once a day.
    private var lastSeenSecond: UInt32

    /// A newer connection, which has proved whose it is and waits for its welcome until ``requests`` are worked off.
    private var arrival: (session: DeviceSession, hello: Hello)?
    /// Changes that were refused because the disk had failed. They may be in the registry all the same, and would be
    /// found there at the next start beside what was changed since: two good registrations of one app.
    private var doubtful: [RegistrationNumber: RegistrationRecord] = [:]

    /// What was found on the disk at start-up, in order of rows, until something happens to the device: most devices
    /// are away, and those that are not need not wait for the queues of all others to be made.
    private(set) var found: [QueueEntry] = []
    /// The first of these to expire.
    private var foundExpiresAt = Moment.last

    /// Whose place it is.
    var identity: DeviceIdentity { device.record.identity }

    /// The number of notifications that wait for the device.
    var pendingCount: Int { device.pendingCount + found.count }

    /// When the oldest notification that waits was accepted, to the second; nil: none waits.
    var oldestAcceptedAt: Moment? { found.first?.acceptedAt ?? device.queue.first?.acceptedAt }

    /// When it was seen last, to the second.
    var lastSeenAt: Moment { Moment(seconds: Int64(lastSeenSecond)) }

    init(_ record: DeviceRecord) {
        device = Device(record)
        lastSeenSecond = record.seenAt.wholeSeconds
    }

    /// It is there.
    func noteSeen(_ now: Moment) { lastSeenSecond = now.wholeSeconds }

    /// These were found on the disk at start-up; rows rise.
    func keep(_ entries: [QueueEntry]) {
        precondition(found.isEmpty, "a queue is found once")
        found = entries
        foundExpiresAt = entries.lazy.map(\.expiresAt).min() ?? .last
    }

    /// Takes out what was found on the disk.
    func takeFound() -> [QueueEntry] {
        foundExpiresAt = .last
        defer { found = [] }
        return found
    }

    /// Whether time alone asks for something to be done.
    func isDue(at now: Moment) -> Bool {
        foundExpiresAt <= now || device.mayHaveExpired(at: now) || device.isGroupDue(at: now)
    }

    /// A connection has to wait for its welcome; the newest of them wins.
    func keepWaiting(_ session: DeviceSession, _ hello: Hello) {
        arrival?.session.leave(.replaced, "the device has a newer connection")
        arrival = (session, hello)
    }

    /// Whether two machines use the identity, as far as is known.
    var duplicate: CloneWatch.Duplicate? { clones?.watch.duplicate }

    /// A connection comes while another one is open. The log is told what is said.
    func judge(
        _ arriving: CloneWatch.Party, beside holding: CloneWatch.Party, at now: Moment, log: Log
    ) -> CloneWatch.Verdict {
        let box = clones ?? CloneBox()
        clones = box
        let verdict = box.watch.judge(arriving, beside: holding, at: now)
        if box.watch.isNews(at: now) {
            log.warning(
                "two machines use the identity of device \(identity) (\(device.record.name)): one at "
                    + "\(holding.address), one at \(arriving.address); give each a state directory of its "
                    + "own, or set on-clone: enrol-anew at their agents")
        }
        return verdict
    }

    /// The connection that waits, if it still does.
    func takeArrival() -> (session: DeviceSession, hello: Hello)? {
        defer { arrival = nil }
        return arrival.flatMap { $0.session.awaitsWelcome ? $0 : nil }
    }

    /// Changes to the registry, after what puts right whatever refused ones have left there.
    func withCorrections(_ records: [RegistrationRecord], now: Moment) -> [RegistrationRecord] {
        let replaced = Set(records.map(\.number))
        let refused = doubtful.filter { !replaced.contains($0.key) }.sorted { $0.key < $1.key }
        return refused.map { number, record in
            let known = device.registrations[number]
            return RegistrationRecord(
                device: identity, number: number, topic: record.topic,
                registeredAt: known?.registeredAt ?? record.registeredAt,
                unregisteredAt: known.map(\.unregisteredAt) ?? now)
        } + records
    }

    /// Such changes are durable, or were refused.
    func noteChanged(_ records: [RegistrationRecord], isDurable: Bool) {
        if isDurable { return doubtful.removeAll() }
        for record in records { doubtful[record.number] = record }
    }

    /// A connection is over, and nobody waits for the answers to what it still asks. What is with the ledger goes
    /// its way.
    func forgetRequests(of session: DeviceSession) {
        guard let first = requests.first else { return }
        requests = [first] + requests.dropFirst().filter { $0.session !== session }
    }
}

/// How much a device may write into the trace: ``Limits/reportsPerNotification`` for each notification that it was
/// sent, so that nobody can push out the lives of others' pushes.
struct ReportAllowance {
    /// Those of before the relay was started may be reported, too: a window of them.
    private(set) var left = Limits.deliveryWindow * Limits.reportsPerNotification

    /// A notification was sent.
    mutating func earn() {
        left = min(left + Limits.reportsPerNotification, Limits.unreported * Limits.reportsPerNotification)
    }

    /// One is reported. False: that is more than there can be.
    mutating func spend() -> Bool {
        guard left > 0 else { return false }
        left -= 1
        return true
    }
}

private final class CloneBox {
    var watch = CloneWatch()
}

import PostriderCourier
import PostriderDeviceQueue
import PostriderNotifications

/// A device at its home: its state, its open connection, and its requests to the registry, which are processed one
/// after the other.
final class DeviceEntry {
    /// A request of a device to the registry. The topic is the text as it arrived.
    enum Request {
        case register(String, Environment)
        case registerWebPush(RegisterWebPush)
        case unregister(String)
        case subscribe(Subscribe)
        case unsubscribe(ChannelIdentity)
    }

    var device: Device
    /// The connection, once it is welcomed; nil while the device is away.
    var session: (any HomeSession)?
    /// Requests that have no answer yet; the ledger has the first.
    var requests: [(request: Request, session: DeviceSession)] = []
    /// Detects clones; nil until a connection is replaced. Boxed, because most devices never need it.
    private var clones: CloneBox?
    /// How fast the device acknowledges.
    var promptness = AckLatency()
    /// How many reports it may still send to the trace.
    var unreported = ReportAllowance()
    /// The charge of its battery in percent, as it has said last since the relay's start; nil if it has not.
    var batteryPercent: UInt8?
    /// Whether it is connected, since when, and what the registry knows of that.
    private(set) var presence: JournaledPresence

    /// A newer connection whose secret was verified, and which waits for its welcome until ``requests`` are finished.
    private var arrival: (session: DeviceSession, hello: Hello)?
    /// Changes that were refused because the disk had failed. They may be in the registry all the same, and the next
    /// start would find them there. So no request is answered before they are corrected.
    private var doubtful: [RegistrationNumber: RegistrationRecord] = [:]

    /// Notifications that were on the disk at start-up, in the order of rows, until something happens to the device.
    /// Most devices are away, so their queues are not built before they are needed.
    private(set) var found: [QueueEntry] = []
    /// When the first of these expires.
    private var foundExpiresAt = Moment.last

    /// The identity of the device.
    var identity: DeviceIdentity { device.record.identity }

    /// The number of notifications that wait for the device.
    var pendingCount: Int { device.pendingCount + found.count }

    /// When the oldest waiting notification was accepted, to the second; nil if none waits.
    var oldestAcceptedAt: Moment? { found.first?.acceptedAt ?? device.backlog.queue.first?.acceptedAt }

    /// The time at which an absent device was last seen.
    var lastSeenAt: Moment { presence.value.since }

    init(_ record: DeviceRecord) {
        device = Device(record)
        presence = JournaledPresence(
            value: DevicePresence(isConnected: false, since: record.seenAt, address: "", agent: ""))
    }

    /// Notes that the device has connected or left. Returns true if the registry must now store that.
    func note(_ presence: DevicePresence) -> Bool {
        self.presence.value = presence
        defer { self.presence.isUnsaved = true }
        return !self.presence.isUnsaved
    }

    /// Another node of the cluster is about to be the device's home, which it does not come back from.
    func beginMoving() { presence.isMoving = true }

    /// Notes what the device says about itself.
    func note(_ reception: Reception) { batteryPercent = reception.batteryPercent.map { UInt8($0) } }

    /// Takes over the presence that was read from the registry.
    func restore(_ presence: DevicePresence) { self.presence.value = presence }

    /// Notes that the registry stores the presence at this second.
    func beginSaving(at second: UInt32) {
        presence.savedSecond = second
        presence.isUnsaved = false
    }

    /// Keeps notifications that were on the disk at start-up, in the order of rows.
    func keep(_ entries: [QueueEntry]) {
        precondition(found.isEmpty, "a queue is found once")
        found = entries
        foundExpiresAt = entries.lazy.map(\.expiresAt).min() ?? .last
    }

    /// Removes and returns these notifications.
    func takeFound() -> [QueueEntry] {
        foundExpiresAt = .last
        defer { found = [] }
        return found
    }

    /// Whether a notification has expired or a group is due.
    func isDue(at now: Moment) -> Bool {
        foundExpiresAt <= now || device.mayHaveExpired(at: now) || device.isGroupDue(at: now)
    }

    /// Lets a connection wait for its welcome; of several, the newest stays.
    func keepWaiting(_ session: DeviceSession, _ hello: Hello) {
        arrival?.session.leave(.replaced, "the device has a newer connection")
        arrival = (session, hello)
    }

    /// Two machines that use the identity, if that was noticed.
    var duplicate: CloneWatch.Duplicate? { clones?.watch.duplicate }

    /// Decides about a connection that arrives while another one is open, and logs clones.
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
                    + "own, or set on-clone: enrol-anew at their agents",
                fields: .init(connection: arriving.address, device: identity.description))
        }
        return verdict
    }

    /// The connection that waits for its welcome, if it is still open.
    func takeArrival() -> (session: DeviceSession, hello: Hello)? {
        defer { arrival = nil }
        return arrival.flatMap { $0.session.awaitsWelcome ? $0 : nil }
    }

    /// Whether the registry may have changes that were refused.
    var isInDoubt: Bool { !doubtful.isEmpty }

    /// The changes that correct what refused changes may have left in the registry.
    func corrections(now: Moment) -> [RegistrationRecord] {
        doubtful.sorted { $0.key < $1.key }.map { number, record in
            let known = device.registrations[number]
            return RegistrationRecord(
                device: identity, number: number, topic: record.topic,
                registeredAt: known?.registeredAt ?? record.registeredAt,
                unregisteredAt: known.map(\.unregisteredAt) ?? now)
        }
    }

    /// These changes were refused.
    func noteRefused(_ records: [RegistrationRecord]) {
        for record in records { doubtful[record.number] = record }
    }

    /// The corrections are durable.
    func noteCorrected() { doubtful.removeAll() }

    /// A connection has ended, so nobody waits for the answers to its requests. The one that the ledger has is
    /// completed.
    func forgetRequests(of session: DeviceSession) {
        guard let first = requests.first else { return }
        requests = [first] + requests.dropFirst().filter { $0.session !== session }
    }
}

extension Sequence<DeviceEntry> {
    /// The devices in an order that does not depend on hashes, because the same seed has to lead to the same run.
    var inOrder: [DeviceEntry] {
        sorted { ($0.identity.high, $0.identity.low) < ($1.identity.high, $1.identity.low) }
    }
}

/// How much a device may write into the trace: ``Limits/reportsPerNotification`` for each notification that it was
/// sent, so that no device can crowd out the records of others.
struct ReportAllowance {
    /// Notifications of before the relay's start may be reported too: everything of a window of them, and the end of
    /// as many as a device may still report of.
    private(set) var left = Limits.deliveryWindow * Limits.reportsPerNotification + Limits.unreported

    /// A notification was sent.
    mutating func earn() {
        left = min(left + Limits.reportsPerNotification, Limits.unreported * Limits.reportsPerNotification)
    }

    /// Counts a report. Returns false if the device has none left.
    mutating func spend() -> Bool {
        guard left > 0 else { return false }
        left -= 1
        return true
    }
}

private final class CloneBox {
    var watch = CloneWatch()
}

import PostriderNotifications
import PostriderTransport

/// The presence of a device, and what the registry knows of it.
struct JournaledPresence {
    var value: DevicePresence
    /// When the registry was told last, in seconds since 1970; 0: not since the relay was started.
    var savedSecond: UInt32 = 0
    /// Whether the registry is to be told, as soon as it is that device's turn.
    var isUnsaved = false
}

/// Tells the registry of the presence of one shard's devices, and that the relay runs.
///
/// Devices that connect or leave are written a second later, many in one transaction, and each at most once a minute.
/// Of devices that stay connected nothing is written: every half minute the journal notes that the relay runs, and who
/// is connected in the registry was so until then. So what is known after the relay was killed is right to the minute.
final class PresenceJournal {
    private let context: ShardContext
    private let changes: RegistryChanges
    private let startedAt: Moment
    private let find: (DeviceIdentity) -> DeviceEntry?
    /// To be written with the next batch, in the order in which they changed.
    private var due: [DeviceIdentity] = []
    /// To be written when their minute is over.
    private var resting: [DeviceIdentity] = []
    private var isWriting = false
    private var isClosed = false
    /// When the registry was told last that the relay runs; nil: not yet.
    private var toldAt: Moment?
    private lazy var timer = context.scheduler.makeTimer { [unowned self] in write() }

    /// - Parameter find: the entry of a device, where there is one.
    init(
        _ context: ShardContext, _ changes: RegistryChanges, startedAt: Moment?,
        find: @escaping (DeviceIdentity) -> DeviceEntry?
    ) {
        self.context = context
        self.changes = changes
        self.startedAt = startedAt ?? context.now
        self.find = find
    }

    /// A device has connected or left.
    func note(_ presence: DevicePresence, of entry: DeviceEntry) {
        guard entry.note(presence), !isClosed else { return }
        if isResting(entry) {
            resting.append(entry.identity)
        } else {
            due.append(entry.identity)
            if !timer.isArmed { timer.arm(afterMilliseconds: Limits.presenceMilliseconds) }
        }
    }

    /// Time goes by: the minutes of some are over, and the registry learns that the relay runs, if it has devices.
    func tick(hasDevices: Bool) {
        guard !isClosed else { return }
        let rested = resting.filter(hasRested)
        if !rested.isEmpty {
            resting.removeAll(where: hasRested)
            due += rested
            write()
        }
        let since = toldAt.map { context.now.milliseconds - $0.milliseconds } ?? .max
        guard hasDevices, !(0..<Limits.runNoteMilliseconds).contains(since) else { return }
        apply([])
    }

    /// The relay stops: everything is written at once. Who is connected in the registry was so until now; that the
    /// devices leave from here on need not be told.
    func close() {
        guard !isClosed else { return }
        isClosed = true
        let all = due + resting
        guard toldAt != nil || !all.isEmpty else { return }
        (due, resting) = ([], [])
        changes.apply([.noteRun(run(isStopped: true))] + records(of: all).map(RegistryChange.putPresence)) {
            _ in
        }
    }

    private func hasRested(_ device: DeviceIdentity) -> Bool { find(device).map { !isResting($0) } ?? true }

    private func isResting(_ entry: DeviceEntry) -> Bool {
        let second = context.now.wholeSeconds
        let saved = entry.presence.savedSecond
        return saved <= second && second - saved < Limits.presenceRestSeconds
    }

    private func write() {
        guard !isWriting, !due.isEmpty, !isClosed else { return }
        let some = Array(due.prefix(Limits.presencesAtOnce))
        due.removeFirst(some.count)
        apply(some)
    }

    private func apply(_ devices: [DeviceIdentity]) {
        let now = context.now
        toldAt = now
        isWriting = isWriting || !devices.isEmpty
        let records = records(of: devices)
        changes.apply([.noteRun(run(isStopped: false))] + records.map(RegistryChange.putPresence)) {
            [unowned self] result in
            guard !devices.isEmpty else { return }
            isWriting = false
            if !result.isSuccess { keep(devices) }
            if !due.isEmpty { timer.arm(afterMilliseconds: Limits.presenceMilliseconds) }
        }
    }

    /// The disk has refused these: they are written again when their minute is over.
    private func keep(_ devices: [DeviceIdentity]) {
        for device in devices {
            guard let entry = find(device), entry.note(entry.presence.value), !isClosed else { continue }
            resting.append(device)
        }
    }

    private func run(isStopped: Bool) -> RelayRun {
        RelayRun(startedAt: startedAt, aliveAt: context.now, isStopped: isStopped)
    }

    private func records(of devices: [DeviceIdentity]) -> [PresenceRecord] {
        let second = context.now.wholeSeconds
        return devices.compactMap { device in
            guard let entry = find(device) else { return nil }
            entry.beginSaving(at: second)
            return PresenceRecord(device: device, presence: entry.presence.value)
        }
    }
}

import PostriderNotifications
import PostriderTransport

/// The presence of a device, and its state in the registry.
struct JournaledPresence {
    var value: DevicePresence
    /// The time at which the registry last stored it, in seconds since 1970; 0 if it has not since the relay's start.
    var savedSecond: UInt32 = 0
    /// Whether the registry must store it at the device's next turn.
    var isUnsaved = false
    /// Whether another node of the cluster is about to be the device's home.
    var isMoving = false
}

/// Stores the presence of one shard's devices in the registry, and the fact that the relay runs.
///
/// Changes are written a second later, many in one transaction, and for each device at most once a minute. Nothing is
/// written for devices that stay connected. Instead the journal notes every half minute that the relay runs: a device
/// that is connected in the registry was so until the last note. So after a kill of the relay, the stored presence is
/// right to the minute.
final class PresenceJournal {
    private let context: ShardContext
    private let changes: RegistryChanges
    private let startedAt: Moment
    private let find: (DeviceIdentity) -> DeviceEntry?
    /// The devices for the next transaction, in the order of their changes.
    private var due: [DeviceIdentity] = []
    /// The changed devices whose minute is not over.
    private var resting: [DeviceIdentity] = []
    private var isWriting = false
    private var isClosed = false
    /// The time of the last note that the relay runs; nil if there is none yet.
    private var toldAt: Moment?
    private lazy var timer = context.scheduler.makeTimer { [unowned self] in write() }

    /// - Parameter find: returns the entry of a device, if there is one.
    init(
        _ context: ShardContext, _ changes: RegistryChanges, startedAt: Moment?,
        find: @escaping (DeviceIdentity) -> DeviceEntry?
    ) {
        self.context = context
        self.changes = changes
        self.startedAt = startedAt ?? context.now
        self.find = find
    }

    /// Notes that a device has connected or left.
    func note(_ presence: DevicePresence, of entry: DeviceEntry) {
        guard entry.note(presence), !isClosed else { return }
        if isResting(entry) {
            resting.append(entry.identity)
        } else {
            due.append(entry.identity)
            if !timer.isArmed { timer.arm(afterMilliseconds: Limits.presenceMilliseconds) }
        }
    }

    /// Moves devices whose minute is over to the next transaction, and notes that the relay runs, if it has devices.
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

    /// Writes the presence of devices that are about to have another home, if the registry does not have it: the new
    /// home goes on with it. A connected device stays connected there, so that the new home knows if it does not come
    /// back.
    func handOver(_ entries: [DeviceEntry]) {
        let unsaved = entries.filter(\.presence.isUnsaved).map(\.identity)
        guard !unsaved.isEmpty, !isClosed else { return }
        let leaving = Set(unsaved)
        due.removeAll(where: leaving.contains)
        resting.removeAll(where: leaving.contains)
        for start in stride(from: 0, to: unsaved.count, by: Limits.presencesAtOnce) {
            let some = Array(unsaved[start..<min(start + Limits.presencesAtOnce, unsaved.count)])
            changes.apply(records(of: some).map(RegistryChange.putPresence)) { _ in }
        }
    }

    /// Writes everything at once, because the relay stops. Devices that are connected in the registry were so until
    /// now, so their later ends need not be stored.
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

    /// Keeps devices whose write has failed; they are written again when their minute is over.
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

import PostriderCluster
import PostriderNotifications
import PostriderStorage

/// One node of a ``ClusterWorld``, with its processes one after another.
final class ClusterWorldNode {
    let name: NodeName
    private unowned let world: ClusterWorld
    private var membership: Membership
    private var store: MemoryClusterStore
    /// Counts processes; what an earlier one has asked for does not concern the next.
    private var process = 0
    /// Counts how often the node has lost everything.
    private var drops = 0
    private var isRunning = false
    private var pausedUntil: UInt64 = 0
    private var cutUntil: UInt64 = 0
    /// Counts settings of the timer; only the last one counts.
    private var timer = 0
    /// What has arrived during a pause.
    private var held: [() -> Void] = []

    /// The node's clock: how fast it is in thousandths, and what it has missed.
    private let rate: UInt64
    private var missed: UInt64 = 0

    /// Milliseconds after which a request counts as failed.
    private static let patience: UInt64 = 600

    init(_ name: NodeName, in world: ClusterWorld) {
        self.name = name
        self.world = world
        // The fastest and the slowest differ by less than the fifth that the lease allows.
        rate = world.draw(910...1090)
        membership = Membership(name: name)
        store = MemoryClusterStore(world.cluster, name: name, address: "\(name):2195")
    }

    private var clock: UInt64 { (world.now - missed) / 1000 * rate }

    private var isPaused: Bool { world.now < pausedUntil }

    /// What it serves now. A process that is paused does nothing.
    var served: Set<Partition> { isRunning && !isPaused ? membership.served(at: clock) : [] }

    var hasEnded: Bool { process > 0 && isRunning && membership.wakesAt == nil }

    // MARK: - Faults

    func start() {
        guard !isRunning || hasEnded else { return }
        process += 1
        isRunning = true
        held = []
        let isHasty = world.fault == .impatience && name.text == "node-0"
        let isPatient = world.fault == .patience
        membership = Membership(
            name: name,
            lease: isHasty
                ? Lease(intervalMilliseconds: 100, durationMilliseconds: 400)
                : isPatient ? Lease(intervalMilliseconds: 250, durationMilliseconds: 60_000) : .usual)
        store = MemoryClusterStore(world.cluster, name: name, address: "\(name):2195")
        event { $0.turn(at: $1) }
    }

    func kill() {
        isRunning = false
        process += 1
        drops += 1
    }

    func pause(milliseconds: UInt64) {
        guard isRunning, !isPaused else { return }
        pausedUntil = world.now + milliseconds * 1_000_000
        let isStopped = world.fault == .stoppedClock || world.fault == .missingFence
        let began = world.now
        world.at(pausedUntil) { [self] in
            if isStopped { missed += world.now - began }
            let waiting = held
            held = []
            for one in waiting { one() }
        }
    }

    func cut(milliseconds: UInt64) { cutUntil = world.now + milliseconds * 1_000_000 }

    func leave() { event { $0.leave(at: $1) } }

    func drain() { event { $0.drain(at: $1) } }

    /// Ends all faults. A node that drains would rest without partitions, so it begins anew.
    func heal() {
        (cutUntil, pausedUntil) = (0, 0)
        let waiting = held
        held = []
        for one in waiting { one() }
        kill()
        // A process that stays dead shows whether others take over.
        if world.fault != .patience || name.text != "node-1" { start() }
    }

    // MARK: - Events and orders

    /// Passes an event to the membership, as soon as the process runs.
    private func event(_ body: @escaping (inout Membership, UInt64) -> [MembershipOrder]) {
        guard isRunning else { return }
        let current = process
        guard !isPaused else {
            return held.append { [self] in if current == process { event(body) } }
        }
        perform(body(&membership, clock))
        guard let wakesAt = membership.wakesAt else { return }
        // Timers are late, and sometimes very late.
        let late =
            !world.isHealed && world.chance(20) ? world.draw(0...400_000_000) : world.draw(0...3_000_000)
        let wait = wakesAt == .max ? 100_000_000 : wakesAt > clock ? (wakesAt - clock) / rate * 1000 : 0
        timer += 1
        let set = timer
        world.at(world.now + wait + late) { [self] in
            guard current == process, set == timer else { return }
            event { membership, now in
                guard let wakesAt = membership.wakesAt, wakesAt <= now else { return [] }
                return membership.turn(at: now)
            }
        }
    }

    private func perform(_ orders: [MembershipOrder]) {
        for order in orders {
            switch order {
            case .ask(let request): ask(request)
            case .load(let partitions, _): world.noteMoves(partitions.count)
            case .giveUp(let partitions):
                let (current, drop) = (process, drops)
                world.after(world.draw(0...100)) { [self] in
                    guard current == process, drop == drops else { return }
                    event { $0.gaveUp(partitions, at: $1) }
                }
            case .drop: drops += 1
            case .suspend, .resume, .end, .refuse: break
            }
        }
    }

    private func ask(_ request: MembershipRequest) {
        let (current, store) = (process, store)
        let isSlow = !world.isHealed && world.chance(25)
        let way = isSlow ? world.draw(1...2000) : world.draw(0...15)
        let back = isSlow ? world.draw(1...2000) : world.draw(0...15)
        let isChange = if case .change = request { true } else { false }
        let slowness: UInt64 = world.fault == .blindness && isChange ? 400 : 0
        let isExecuted = way + slowness <= Self.patience
        var isAnswered = false
        func answer(_ answer: MembershipAnswer) {
            guard current == process, !isAnswered else { return }
            isAnswered = true
            event { $0.answered(answer, at: $1) }
        }
        if isExecuted {
            world.after(way + slowness) { [self] in
                guard world.now >= cutUntil else { return }
                let result = execute(request, store)
                world.after(back) { if self.world.now >= self.cutUntil { answer(result) } }
            }
        }
        world.after(Self.patience) { answer(.failed) }
    }

    private func execute(_ request: MembershipRequest, _ store: MemoryClusterStore) -> MembershipAnswer {
        guard case .change(var change) = request else { return store.answer(request).0 }
        if world.fault == .blindness {
            guard let view = try? store.look() else { return .failed }
            change.dead = change.dead.compactMap { view.nodes[$0.name] }
        }
        if world.fault == .haste { change.released.formUnion(membership.served(at: clock).prefix(1)) }
        let answer = store.answer(.change(change)).0
        if world.fault == .repetition, answer == .done {
            var release = ClusterChange()
            release.released = change.released
            world.after(world.draw(1000...4000)) { try? store.change(release) }
        }
        return answer
    }

    // MARK: - The ledger

    /// Tries to commit a notification for a device of a partition, as a ledger does while the node serves.
    func commits(to partition: Partition, row: QueueRow) -> Bool {
        guard isRunning, !isPaused, served.contains(partition) else { return false }
        guard world.fault != .missingFence else { return true }
        var batch = QueueBatch()
        batch.enqueued = [Self.notification(row, to: partition)]
        var isCommitted = false
        MemoryPartitionStore(of: store).commit(batch) { if case .success = $0 { isCommitted = true } }
        return isCommitted
    }

    private static func notification(_ row: QueueRow, to partition: Partition) -> QueuedNotification {
        guard let topic = Topic("com.example.app") else { preconditionFailure("a good topic") }
        let notification = Notification(
            identity: NotificationIdentity(high: 1, low: UInt64(row.value)),
            device: DeviceIdentity(high: 1, low: UInt32(partition.number)),
            registration: RegistrationNumber(1),
            topic: topic, pushType: .alert, priority: .immediate,
            expiration: .at(Moment(milliseconds: 1)), collapseIdentifier: nil, payload: [],
            acceptedAt: Moment(milliseconds: 0))
        return QueuedNotification(row: row, notification: notification)
    }
}

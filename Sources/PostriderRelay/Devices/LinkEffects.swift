import PostriderCourier
import PostriderNotifications
import PostriderRules
import PostriderTransport

/// What rules do to the links of the devices of one shard, on a relay for tests: deliveries that go out late or in
/// part, and acknowledgements that count late.
final class LinkEffects {
    /// One link to which a rule does something.
    private final class Link {
        /// Deliveries that wait, each with its own time, in order. The timer runs for the first.
        var held: [(delivery: DeviceSession.Delivery, effect: DeviceEffect?)] = []
        var timer: (any LoopTimer)?
        /// By how much the acknowledgements of deliveries are late, in milliseconds.
        var late: [UInt64: Int] = [:]
        /// The timers of late acknowledgements.
        var acknowledgements: [UInt64: any LoopTimer] = [:]
    }

    private let bench: TestBench
    private let scheduler: any Scheduler
    /// By the numbers of their sessions.
    private var links: [UInt64: Link] = [:]

    init(_ bench: TestBench, on scheduler: any Scheduler) {
        self.bench = bench
        self.scheduler = scheduler
    }

    /// A link has ended: what was held back is pending again at the device's home.
    func forget(_ session: DeviceSession) { links[session.number] = nil }

    // MARK: Absence

    /// A push is offered to a connected device. Returns whether a rule keeps the device away from now on.
    func cutsLink(with notification: Notification) -> Bool { bench.takeAbsence(with: notification) }

    /// For how many more milliseconds a device is kept away; nil if it is not.
    func absenceLeft(of device: DeviceIdentity, at now: Moment) -> UInt32? {
        bench.absenceLeft(of: device, at: now)
    }

    // MARK: Deliveries

    /// Takes over a delivery if a rule is about it, or if it has to wait behind one that is held back. Returns false if
    /// it is to be written now.
    func takesOver(_ delivery: DeviceSession.Delivery, of session: DeviceSession) -> Bool {
        let effect = bench.takeEffect(on: delivery.notification)
        guard effect != nil || links[session.number] != nil else { return false }
        let link = links[session.number] ?? Link()
        links[session.number] = link
        if case .acknowledgesLate(let milliseconds) = effect { link.late[delivery.number] = milliseconds }
        if link.held.isEmpty, !Self.changesWriting(effect) { return false }
        // There are no more than the device may have unacknowledged.
        link.held.append((delivery, effect))
        if link.held.count == 1 { wait(link, session) }
        return true
    }

    private static func changesWriting(_ effect: DeviceEffect?) -> Bool {
        switch effect {
        case .slow, .disconnects: true
        case .offline, .acknowledgesLate, nil: false
        }
    }

    /// Waits for the time of the first delivery, and writes it.
    private func wait(_ link: Link, _ session: DeviceSession) {
        guard case .slow(let milliseconds) = link.held.first?.effect else { return writeFirst(link, session) }
        let timer = scheduler.makeTimer { [unowned self, unowned link, unowned session] in
            writeFirst(link, session)
        }
        timer.arm(afterMilliseconds: milliseconds)
        link.timer = timer
    }

    private func writeFirst(_ link: Link, _ session: DeviceSession) {
        guard !link.held.isEmpty, links[session.number] === link else { return }
        let (delivery, effect) = link.held.removeFirst()
        if effect == .disconnects {
            session.breakOff(delivery)
        } else {
            session.write(delivery)
            if !link.held.isEmpty { wait(link, session) }
        }
    }

    // MARK: Acknowledgements

    /// Lets acknowledgements count later if rules say so, and returns the others.
    func postponing(_ deliveries: [UInt64], of session: DeviceSession) -> [UInt64] {
        guard let link = links[session.number], !link.late.isEmpty else { return deliveries }
        var due: [UInt64] = []
        for delivery in deliveries {
            guard let milliseconds = link.late.removeValue(forKey: delivery) else {
                due.append(delivery)
                continue
            }
            let timer = scheduler.makeTimer { [unowned link, unowned session] in
                link.acknowledgements[delivery] = nil
                session.acknowledged([delivery])
            }
            timer.arm(afterMilliseconds: milliseconds)
            link.acknowledgements[delivery] = timer
        }
        return due
    }
}

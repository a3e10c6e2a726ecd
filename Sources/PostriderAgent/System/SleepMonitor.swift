import PostriderDBus
import PostriderNotifications
import PostriderTransport

/// Hears from the machine's login manager (logind, org.freedesktop.login1(5)) when the device sleeps, and keeps it from
/// doing so until the apps have heard of it: with a delay lock, a descriptor that is held, and let go of when they are
/// ready. Where there is no such manager, the device never tells that it sleeps.
final class SleepMonitor: SleepLock {
    private let line: ReconnectingBus
    private unowned let system: SystemEvents
    private let log: Log
    /// The unique name of the manager, whose signals alone count.
    private var manager: String?
    private var lock: BusDescriptor?
    /// Whether the lock is to be held: not while the device sleeps, or is on its way.
    private var isWanted = true
    /// Whether the manager has said that the device sleeps, and not yet that it is awake.
    private var isAsleep = false

    private static let bus = "org.freedesktop.DBus"
    private static let service = "org.freedesktop.login1"
    private static let path = "/org/freedesktop/login1"
    private static let interface = "org.freedesktop.login1.Manager"

    init(on line: ReconnectingBus, for system: SystemEvents, log: Log) {
        self.line = line
        self.system = system
        self.log = log
        line.opened = { [unowned self] in opened($0) }
        line.lost = { [unowned self] in manager = nil }
    }

    /// Goes for the machine's bus.
    func start() { line.start() }

    /// Lets go of everything: the device may sleep.
    func stop() {
        line.stop()
        isWanted = false
        lock = nil
    }

    // MARK: SleepLock

    func take() {
        isWanted = true
        guard let connection = line.current, manager != nil else { return }
        let call = BusCall(
            Self.service, path: Self.path, interface: Self.interface, member: "Inhibit",
            arguments: ["sleep", "Postrider", "Apps are told that the device sleeps.", "delay"].map(
                BusValue.string))
        do {
            try connection.call(call) { [weak self] in self?.taken($0) }
        } catch {
            log.notice("apps may be told too late that the device sleeps: \(error)")
        }
    }

    func release() {
        isWanted = false
        lock = nil
    }

    private func taken(_ result: Result<BusReply, BusError>) {
        switch result {
        case .success(let reply):
            // The device may be asleep by now, or on its way: a lock that comes late is let go of at once.
            guard isWanted, case .descriptor(let descriptor)? = reply.values.first else { return }
            lock = descriptor
        case .failure(let error): log.notice("apps may be told too late that the device sleeps: \(error)")
        }
    }

    // MARK: The bus

    private func opened(_ connection: BusConnection) {
        do {
            let changes = BusMatch(
                sender: Self.bus, interface: Self.bus, member: "NameOwnerChanged", firstArgument: Self.service
            )
            try connection.listen(to: changes) { [unowned self] signal in
                guard signal.sender == Self.bus else { return }
                found(signal.arguments.last?.text ?? "")
            }
            let sleep = BusMatch(
                sender: Self.service, path: Self.path, interface: Self.interface, member: "PrepareForSleep")
            try connection.listen(to: sleep) { [unowned self] in prepare($0) }
            let owner = BusCall(
                Self.bus, path: "/org/freedesktop/DBus", interface: Self.bus, member: "GetNameOwner",
                arguments: [.string(Self.service)])
            try connection.call(owner) { [weak self] in
                // Nobody may have the name: then it is told when somebody takes it.
                if let name = (try? $0.get())?.values.first?.text { self?.found(name) }
            }
        } catch {
            log.error("\(error)", kind: "\(error)")
        }
    }

    /// Somebody is the manager from now on; an empty name: nobody is.
    private func found(_ name: String) {
        manager = name.isEmpty ? nil : name
        guard manager != nil else { return }
        log.debug("the login manager tells when the device sleeps")
        // What was said while nobody listened is not said again. A device on which this runs is awake.
        if isAsleep { wake() } else { take() }
    }

    private func prepare(_ signal: BusSignal) {
        guard signal.sender == manager, let isToSleep = signal.arguments.first?.isTrue else { return }
        if isToSleep {
            guard !isAsleep else { return }
            isAsleep = true
            system.willSleep()
        } else if isAsleep {
            wake()
        }
    }

    private func wake() {
        isAsleep = false
        system.didWake()
    }
}

import PostriderDBus
import PostriderNotifications
import PostriderTransport

/// Listens to logind (org.freedesktop.login1(5)) for sleep, and delays it until the apps are ready. Without logind the
/// agent never learns that the device sleeps.
final class SleepMonitor {
    private let bus: ReconnectingBus
    private let lock: LogindLock
    private let system: SystemEvents
    private let log: Log
    /// Whether logind has announced sleep and not yet the end of it.
    private var isAsleep = false

    private static let busName = "org.freedesktop.DBus"
    private static let service = "org.freedesktop.login1"
    private static let path = "/org/freedesktop/login1"
    private static let interface = "org.freedesktop.login1.Manager"

    /// - Parameters:
    ///   - bus: the connection to the system's bus.
    ///   - lock: the delay lock, on the same bus.
    init(on bus: ReconnectingBus, lock: LogindLock, for system: SystemEvents, log: Log) {
        self.bus = bus
        self.lock = lock
        self.system = system
        self.log = log
    }

    /// Connects to the system bus.
    func start() {
        bus.start { [unowned self] event in
            switch event {
            case .opened(let connection): opened(connection)
            case .lost: lock.manager = nil
            }
        }
    }

    /// Releases everything: the device may sleep.
    func stop() {
        bus.stop()
        lock.release()
    }

    // MARK: The bus

    private func opened(_ connection: BusConnection) {
        do {
            let changes = BusMatch(
                sender: Self.busName, interface: Self.busName, member: "NameOwnerChanged",
                firstArgument: Self.service
            )
            try connection.listen(to: changes) { [unowned self] signal in
                guard signal.sender == Self.busName else { return }
                found(signal.arguments.last?.text ?? "")
            }
            let sleep = BusMatch(
                sender: Self.service, path: Self.path, interface: Self.interface, member: "PrepareForSleep")
            try connection.listen(to: sleep) { [unowned self] in prepare($0) }
            let owner = BusCall(
                Self.busName, path: "/org/freedesktop/DBus", interface: Self.busName,
                member: "GetNameOwner",
                arguments: [.string(Self.service)])
            try connection.call(owner) { [weak self] in
                // Nobody may own the name yet: the bus announces when somebody does.
                if let name = (try? $0.get())?.values.first?.text { self?.found(name) }
            }
        } catch {
            log.error("\(error)", kind: "\(error)")
        }
    }

    /// The owner of logind's name has changed; an empty name means that there is none.
    private func found(_ name: String) {
        lock.manager = name.isEmpty ? nil : name
        guard lock.manager != nil else { return }
        log.debug("the login manager tells when the device sleeps")
        // Signals that were sent while the connection was down are lost. A device on which this runs is awake.
        if isAsleep { wake() } else { lock.take() }
    }

    private func prepare(_ signal: BusSignal) {
        guard signal.sender == lock.manager, let isToSleep = signal.arguments.first?.isTrue else {
            return
        }
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

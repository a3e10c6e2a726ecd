import PostriderDBus
import PostriderNotifications

/// The delay lock of logind (org.freedesktop.login1(5), Inhibit): a descriptor that is closed when the device may
/// sleep.
final class LogindLock: SleepLock {
    /// The unique bus name of logind; nil while there is none. Signals of others are ignored.
    var manager: String?

    private let bus: ReconnectingBus
    private let log: Log
    private var lock: BusDescriptor?
    /// Whether the lock shall be held: not while the device sleeps or is about to.
    private var isWanted = true

    private static let service = "org.freedesktop.login1"
    private static let path = "/org/freedesktop/login1"
    private static let interface = "org.freedesktop.login1.Manager"

    init(on bus: ReconnectingBus, log: Log) {
        self.bus = bus
        self.log = log
    }

    func take() {
        isWanted = true
        guard let connection = bus.current, manager != nil else { return }
        let call = BusCall(
            Self.service, path: Self.path, interface: Self.interface, member: "Inhibit",
            arguments: ["sleep", "Postrider", "Apps are told that the device sleeps.", "delay"].map(
                BusValue.string))
        do {
            try connection.call(call) { [weak self] in self?.taken($0) }
        } catch {
            tellMissing(error)
        }
    }

    func release() {
        isWanted = false
        lock = nil
    }

    private func taken(_ result: Result<BusReply, BusError>) {
        switch result {
        case .success(let reply):
            // The device may be asleep by now, or about to be: a lock that arrives late is released at once.
            guard isWanted, case .descriptor(let descriptor)? = reply.values.first else { return }
            lock = descriptor
        case .failure(let error): tellMissing(error)
        }
    }

    /// Without polkit, logind lets only root delay sleep. Many devices are set up so, on purpose.
    private func tellMissing(_ error: any Error) {
        if case BusError.refused("org.freedesktop.DBus.Error.AccessDenied", _) = error {
            log.info(
                "apps hear of sleep without a delay for their answers, because only root may delay it here; "
                    + "the package polkitd lets the agent do so as well")
        } else {
            log.notice("apps may be told too late that the device sleeps: \(error)")
        }
    }
}

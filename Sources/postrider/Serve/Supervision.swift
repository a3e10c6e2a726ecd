import FoundationEssentials
import PostriderNotifications
import PostriderTransport

/// What a service tells systemd of itself: that it is ready, reloads, stops, and, where it is asked to, that it is
/// alive (sd_notify(3), sd_watchdog_enabled(3)). For a program that nobody supervises, nothing.
struct Supervision: Sendable {
    /// Where systemd listens.
    private let socket: String?
    /// How often it wants to hear that the program is alive.
    private let period: Duration?
    private let log: Log

    /// - Parameter process: this process, for which alone the environment's watchdog is.
    init(
        _ environment: [String: String], process: Int32 = ProcessInfo.processInfo.processIdentifier, log: Log
    ) {
        socket = environment["NOTIFY_SOCKET"]
        period = Self.period(environment, process)
        self.log = log
    }

    /// Half of what systemd waits for, as sd_watchdog_enabled(3) advises; nil: it waits for nothing.
    static func period(_ environment: [String: String], _ process: Int32) -> Duration? {
        guard let microseconds = environment["WATCHDOG_USEC"].flatMap({ UInt64($0) }), microseconds > 1,
            environment["WATCHDOG_PID"].map({ $0 == String(process) }) ?? true
        else { return nil }
        return .microseconds(Int64(clamping: microseconds / 2))
    }

    /// Tells one state.
    ///
    /// - Parameter waits: whether it waits for a supervisor that does not read; see ``Supervisor``.
    func tell(_ state: String, waits: Bool = true) {
        guard let socket else { return }
        if !Supervisor.notify(state, socket: socket, waits: waits) {
            log.warning("nobody listens at NOTIFY_SOCKET, \(socket)", kind: "NOTIFY_SOCKET")
        }
    }

    /// Tells that the program is alive for as long as `answers` does, until the task is cancelled.
    ///
    /// - Parameter answers: asks those whose work it is, and returns false, or not at all, where they do not answer.
    func watch(_ answers: @escaping @Sendable () async -> Bool) -> Task<Void, Never>? {
        guard let period, socket != nil else { return nil }
        return Task {
            while !Task.isCancelled {
                // A sign of life that nobody reads is worth no thread's waiting: the next one follows.
                if await answers() { tell("WATCHDOG=1", waits: false) }
                try? await Task.sleep(for: period)
            }
        }
    }
}

import FoundationEssentials
package import PostriderNotifications
import PostriderSystem
import PostriderTransport

/// Reports the state of a service to systemd: ready, reloading, stopping and, if the watchdog is on, alive
/// (sd_notify(3), sd_watchdog_enabled(3)). It does nothing without a supervisor.
package struct Supervision: Sendable {
    /// The path of systemd's socket; nil if there is none.
    private let socket: String?
    /// How often systemd expects a sign of life; nil if the watchdog is off.
    private let period: Duration?
    private let log: Log

    /// - Parameter process: the number of this process. The watchdog variables in the environment are meant for one
    ///   process.
    package init(
        _ environment: [String: String], process: Int32 = ProcessInfo.processInfo.processIdentifier, log: Log
    ) {
        socket = environment["NOTIFY_SOCKET"]
        period = Self.period(environment, process)
        self.log = log
    }

    /// Half of the watchdog's timeout, as sd_watchdog_enabled(3) advises; nil if the watchdog is off.
    package static func period(_ environment: [String: String], _ process: Int32) -> Duration? {
        guard let microseconds = environment["WATCHDOG_USEC"].flatMap({ UInt64($0) }), microseconds > 1,
            environment["WATCHDOG_PID"].map({ $0 == String(process) }) ?? true
        else { return nil }
        return .microseconds(Int64(clamping: microseconds / 2))
    }

    /// Reports one state.
    ///
    /// - Parameter waits: whether it waits for a supervisor that does not read; see ``Supervisor``.
    package func tell(_ state: String, waits: Bool = true) {
        guard let socket else { return }
        if !Supervisor.notify(state, socket: socket, waits: waits) {
            log.warning("nobody listens at NOTIFY_SOCKET, \(socket)", kind: "NOTIFY_SOCKET")
        }
    }

    /// Reports that the program is alive for as long as `answers` confirms it, until the task is cancelled.
    ///
    /// - Parameter answers: asks the threads that do the work. It returns false, or does not return, if they do not
    ///   respond.
    package func watch(_ answers: @escaping @Sendable () async -> Bool) -> Task<Void, Never>? {
        guard let period, socket != nil else { return nil }
        return Task {
            while !Task.isCancelled {
                // This does not wait for the supervisor to read, because the next sign of life follows.
                if await answers() { tell("WATCHDOG=1", waits: false) }
                try? await Task.sleep(for: period)
            }
        }
    }
}

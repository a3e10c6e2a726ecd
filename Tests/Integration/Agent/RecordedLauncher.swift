import PostriderNotifications
import PostriderSystem
import PostriderTransport

@testable import PostriderAgent

/// A launcher whose processes only record the calls.
final class RecordedLauncher: AppLauncher {
    final class Process: AppProcess {
        let identifier: Int32
        let startedAt: UInt64
        let reason: String
        fileprivate(set) var ended: (ProcessEnding) -> Void
        private(set) var orders: [String] = []
        private(set) var isRunning = true

        fileprivate init(_ identifier: Int32, _ reason: String, _ ended: @escaping (ProcessEnding) -> Void) {
            self.identifier = identifier
            startedAt = UInt64(identifier) * 10
            self.reason = reason
            self.ended = ended
        }

        func terminate() { orders.append("terminate") }
        func kill() { orders.append("kill") }

        /// Ends the process and reports that to the loop.
        func end(_ ending: ProcessEnding) {
            isRunning = false
            ended(ending)
        }
    }

    /// All started processes, the newest last.
    private(set) var processes: [Process] = []

    func start(
        _ manifest: AppManifest, reason: String, ended: @escaping (ProcessEnding) -> Void
    ) throws -> any AppProcess {
        let process = Process(Int32(100 + processes.count), reason, ended)
        processes.append(process)
        return process
    }

    func adopt(
        _ record: ProcessRegister.Record, ended: @escaping (ProcessEnding) -> Void
    ) -> (any AppProcess)? {
        let found = processes.first {
            $0.isRunning && $0.identifier == record.identifier && $0.startedAt == record.startedAt
        }
        found?.ended = ended
        return found
    }
}

extension AppManifest {
    static func sample(
        _ topic: String = RecordedApp.topic, mayRunInBackground: Bool = true, exitsOnSuspend: Bool = false
    ) -> AppManifest {
        AppManifest(
            topic: topic, user: 1000, program: "/bin/true", mayRunInBackground: mayRunInBackground,
            exitsOnSuspend: exitsOnSuspend)
    }
}

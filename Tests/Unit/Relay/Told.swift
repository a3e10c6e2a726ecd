import PostriderNotifications
import Synchronization

/// Keeps the lines of a log.
final class Told: Sendable {
    private let all = Mutex<[String]>([])

    var lines: [String] { all.withLock { $0 } }

    /// A log whose lines are kept here.
    var log: Log { Log { [self] _, line in all.withLock { $0.append(line) } } }
}

import PostriderNotifications
import Synchronization

/// Keeps the lines of a log.
final class LoggedLines: Sendable {
    private let lines = Mutex<[Log.Line]>([])

    var log: Log { Log { [self] line in lines.withLock { $0.append(line) } } }
    var all: [Log.Line] { lines.withLock { $0 } }
}

import PostriderTransport
import Synchronization

/// Connections that have left one shard's loop for another's. They stay in this process, so that the message about one
/// is a plain value: its number. There are never more than the process has connections.
final class ConnectionsInTransit: Sendable {
    private let connections = Mutex<(last: UInt64, waiting: [UInt64: DetachedConnection])>((0, [:]))

    /// Keeps a connection until it is taken.
    ///
    /// - Returns: its number.
    func add(_ connection: DetachedConnection) -> UInt64 {
        connections.withLock { connections in
            connections.last += 1
            connections.waiting[connections.last] = connection
            return connections.last
        }
    }

    /// Takes the connection of a number out; nil if there is none.
    func take(_ number: UInt64) -> DetachedConnection? {
        connections.withLock { $0.waiting.removeValue(forKey: number) }
    }
}

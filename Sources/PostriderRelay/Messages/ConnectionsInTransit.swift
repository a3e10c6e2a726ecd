import PostriderTransport
import Synchronization

/// Connections that have left one shard's loop and have not reached another's. They stay in this process, so that the
/// message about one is a plain value: its number. Their number is bounded by the process's descriptors.
final class ConnectionsInTransit: Sendable {
    private let connections = Mutex<(last: UInt64, waiting: [UInt64: DetachedConnection])>((0, [:]))

    /// Stores a connection until its new shard takes it.
    ///
    /// - Returns: the number by which it is taken.
    func add(_ connection: DetachedConnection) -> UInt64 {
        connections.withLock { connections in
            connections.last += 1
            connections.waiting[connections.last] = connection
            return connections.last
        }
    }

    /// Removes and returns the connection of a number; nil if there is none.
    func take(_ number: UInt64) -> DetachedConnection? {
        connections.withLock { $0.waiting.removeValue(forKey: number) }
    }
}

import PostriderEndpoints
import PostriderTransport

/// Moves a connection with its session from one shard's loop to another. The event loop does it for a relay; a
/// simulator replaces it, because its connections are its own.
struct ConnectionMigrator {
    /// Takes a connection off the loop and returns its number in ``ConnectionsInTransit``; nil if it is closed. It must
    /// not be called from inside the session.
    let detach: (HTTP2Handler) -> UInt64?
    /// Puts the connection of this number, which another shard took off its loop, on this shard's loop.
    let adopt: (UInt64) -> DeviceSession?

    /// The migrator of a shard on an event loop.
    init(on loop: EventLoop, through transit: ConnectionsInTransit) {
        self.init(
            detach: { ($0.wire as? Connection)?.detach().map(transit.add) },
            adopt: { [unowned loop] number in
                guard let connection = transit.take(number) else { return nil }
                return (loop.adopt(connection) as? HTTP2Handler)?.owner as? DeviceSession
            }
        )
    }

    /// A migrator with these functions.
    init(detach: @escaping (HTTP2Handler) -> UInt64?, adopt: @escaping (UInt64) -> DeviceSession?) {
        self.detach = detach
        self.adopt = adopt
    }
}

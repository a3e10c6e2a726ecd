import PostriderTransport

/// Moves a connection with its session from one shard's loop to another. The event loop does it for a relay; a
/// simulator replaces it, because its connections are its own.
struct ConnectionMigrator {
    /// Takes a connection off the loop and returns its number in ``ConnectionsInTransit``; nil if it is closed. It must
    /// not be called from inside the session.
    let detach: (any ConnectionOutput) -> UInt64?
    /// Puts the connection of this number, which another shard took off its loop, on this shard's loop.
    let adopt: (UInt64) -> (any ConnectionHandler)?

    /// The migrator of a shard on an event loop.
    init(on loop: EventLoop, through transit: ConnectionsInTransit) {
        self.init(
            detach: { ($0 as? Connection)?.detach().map(transit.add) },
            adopt: { [unowned loop] number in
                transit.take(number).map { loop.adopt($0) }
            }
        )
    }

    /// A migrator with these functions.
    init(
        detach: @escaping (any ConnectionOutput) -> UInt64?,
        adopt: @escaping (UInt64) -> (any ConnectionHandler)?
    ) {
        self.detach = detach
        self.adopt = adopt
    }
}

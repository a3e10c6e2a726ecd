import PostriderEndpoints
import PostriderTransport

/// How a connection with its session gets from one shard's loop to another's. A loop and its connections do it
/// for the relay; a simulator, whose connections are its own, does it its own way.
struct ConnectionMigrator {
    /// Takes a connection off the loop and gives it a number in transit; nil when it is gone. Not to be called while
    /// the session is at work.
    let detach: (HTTP2Handler) -> UInt64?
    /// Continues the connection of this number, which another shard took off its loop, on this shard's.
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

    /// A migrator that works like this.
    init(detach: @escaping (HTTP2Handler) -> UInt64?, adopt: @escaping (UInt64) -> DeviceSession?) {
        self.detach = detach
        self.adopt = adopt
    }
}

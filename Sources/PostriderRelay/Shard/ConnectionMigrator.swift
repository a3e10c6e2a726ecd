import PostriderEndpoints
import PostriderTransport

/// How a connection with its session gets from one shard's loop to another's. A loop and its connections do it
/// for the relay; a simulator, whose wires are its own, does it its own way.
struct ConnectionMigrator {
    /// What a connection travels in.
    typealias Crate = any Sendable

    /// Takes a connection off the loop; nil when it is gone. Not to be called while the session is at work.
    let detach: (HTTP2Handler) -> Crate?
    /// Continues a connection that another shard's porter took off, on this shard's loop.
    let adopt: (Crate) -> DeviceSession?

    /// The porter of a shard on an event loop.
    init(on loop: EventLoop) {
        self.init(
            detach: { ($0.wire as? Connection)?.detach() },
            adopt: { [unowned loop] crate in
                guard let crate = crate as? DetachedConnection else { return nil }
                return (loop.adopt(crate) as? HTTP2Handler)?.owner as? DeviceSession
            }
        )
    }

    /// A porter that works like this.
    init(detach: @escaping (HTTP2Handler) -> Crate?, adopt: @escaping (Crate) -> DeviceSession?) {
        self.detach = detach
        self.adopt = adopt
    }
}

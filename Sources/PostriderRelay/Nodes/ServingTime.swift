import Synchronization

/// Until when this relay serves its devices: for as long as it runs, or as a node of a cluster until its lease ends.
///
/// The end is a time, and not a message: the thread that renews the lease may wait for the database, or may not run at
/// all, while another node takes the devices over. So whoever accepts a push compares the end with its own clock.
final class ServingTime: Sendable {
    private let end: Atomic<UInt64>

    /// A time that ends at this moment of the monotonic clock, in nanoseconds.
    init(until end: UInt64) { self.end = Atomic(end) }

    /// Moves the end: later by an answered heartbeat, or to 0 if the node is not to serve.
    func change(to end: UInt64) { self.end.store(end, ordering: .relaxed) }

    /// Whether the relay serves at this moment of the monotonic clock.
    func includes(_ now: UInt64) -> Bool { now < end.load(ordering: .relaxed) }
}

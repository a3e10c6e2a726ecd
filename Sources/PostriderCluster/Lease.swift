/// How often a node shows that it is alive, and how long its partitions are its own after that.
public struct Lease: Hashable, Sendable {
    /// Nanoseconds between two heartbeats.
    public let interval: UInt64
    /// Nanoseconds for which others watch a heartbeat that does not change before they take the node's partitions.
    public let duration: UInt64

    /// Nanoseconds after the sending of an answered heartbeat for which a node serves. The fifth that is missing to the
    /// duration is for clocks that run at different speeds.
    public var serving: UInt64 { duration / 5 * 4 }

    /// The lease that nodes have unless a setting says something else.
    public static let usual = Lease(intervalMilliseconds: 250, durationMilliseconds: 1500)

    /// Creates a lease. Several heartbeats must fit into it, so that one slow answer stops nobody.
    public init(intervalMilliseconds: UInt64, durationMilliseconds: UInt64) {
        precondition(intervalMilliseconds > 0, "a node cannot have a heartbeat all the time")
        precondition(
            durationMilliseconds >= 4 * intervalMilliseconds, "a lease has room for four heartbeats")
        interval = intervalMilliseconds * 1_000_000
        duration = durationMilliseconds * 1_000_000
    }
}

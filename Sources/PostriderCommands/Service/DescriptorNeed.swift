import PostriderNotifications
import PostriderTransport

/// The file descriptors that a program needs (`RLIMIT_NOFILE`, "nofile"); each connection takes one. The soft limit
/// is raised to the hard limit at every start.
package struct DescriptorNeed: Equatable {
    /// Descriptors for files, loops and listeners, and a reserve; without connections.
    package let own: Int
    /// The least number of connections with which the program is useful.
    package let least: Int
    /// The program, as the subject of a sentence.
    package let name: String

    /// The descriptors that listeners leave to other uses.
    private static let reserve = ConnectionLimits.server.descriptorReserve

    /// The need of a relay with this number of shards, each of which listens on this number of addresses.
    ///
    /// - Parameter callbacks: how many requests of callbacks may be open at once; 0 if callbacks are off.
    package static func relay(shards: Int, addresses: Int, callbacks: Int = 0) -> DescriptorNeed {
        DescriptorNeed(
            own: reserve + Limits.relayFiles + Limits.metricsFiles + Limits.metricsConnections.most
                + callbacks + shards * (Limits.shardFiles + addresses),
            least: Limits.leastConnections,
            name: shards == 1 ? "a relay with 1 shard" : "a relay with \(shards) shards")
    }

    /// The need of an agent.
    package static var agent: DescriptorNeed {
        DescriptorNeed(own: reserve + Limits.agentFiles, least: Limits.leastAppConnections, name: "an agent")
    }

    /// The need of a fleet with this number of connections.
    package static func fleet(connections: Int) -> DescriptorNeed {
        DescriptorNeed(
            own: reserve + Limits.relayFiles, least: connections,
            name: "a fleet of \(connections) connections")
    }

    /// Throws if the limit is too low.
    package func check(_ limit: Int = Descriptors.limit) throws(CommandFailure) {
        guard limit < own + least else { return }
        let room = max(0, limit - own)
        throw CommandFailure(
            "The limit of open files (nofile) is \(limit), which leaves room for \(Self.connections(room)), "
                + "but \(name) needs at least \(own + least): raise LimitNOFILE= in its unit, "
                + "--ulimit nofile= of its container, or the hard limit of its shell (ulimit -Hn).")
    }

    /// How many connections a service can accept after its start, for the log.
    package static var roomNow: String {
        "room for \(connections(Descriptors.room(besides: reserve))) (nofile \(Descriptors.limit))"
    }

    private static func connections(_ count: Int) -> String {
        count == 0 ? "no connection" : count == 1 ? "1 connection" : "\(count) connections"
    }
}

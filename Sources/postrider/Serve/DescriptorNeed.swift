import PostriderNotifications
import PostriderTransport

/// What a program needs of the limit of open files (`RLIMIT_NOFILE`, "nofile"), each connection being one. The soft
/// limit is raised to the hard one at every start.
struct DescriptorNeed: Equatable {
    /// Files, loops, listeners and what is spared for the unforeseen; without connections.
    let own: Int
    /// Connections below which the program is of no use.
    let least: Int
    /// The program, as the subject of a sentence.
    let name: String

    /// What the listeners leave to other uses.
    private static let reserve = ConnectionLimits.server.descriptorReserve

    /// Of a relay with so many shards, each of which listens at so many addresses.
    static func relay(shards: Int, addresses: Int) -> DescriptorNeed {
        DescriptorNeed(
            own: reserve + Limits.relayFiles + Limits.metricsFiles + Limits.metricsConnections.most
                + shards * (Limits.shardFiles + addresses),
            least: Limits.leastConnections,
            name: shards == 1 ? "a relay with 1 shard" : "a relay with \(shards) shards")
    }

    /// Of an agent.
    static var agent: DescriptorNeed {
        DescriptorNeed(own: reserve + Limits.agentFiles, least: Limits.leastAppConnections, name: "an agent")
    }

    /// Of a fleet with so many connections.
    static func fleet(connections: Int) -> DescriptorNeed {
        DescriptorNeed(
            own: reserve + Limits.relayFiles, least: connections,
            name: "a fleet of \(connections) connections")
    }

    /// Refuses a limit that is too low.
    func check(_ limit: Int = Descriptors.limit) throws(CommandFailure) {
        guard limit < own + least else { return }
        let room = max(0, limit - own)
        throw CommandFailure(
            "The limit of open files (nofile) is \(limit), which leaves room for \(Self.connections(room)), "
                + "but \(name) needs at least \(own + least): raise LimitNOFILE= in its unit, "
                + "--ulimit nofile= of its container, or the hard limit of its shell (ulimit -Hn).")
    }

    /// How many connections a service that has started can take, for the log.
    static var roomNow: String {
        "room for \(connections(Descriptors.room(besides: reserve))) (nofile \(Descriptors.limit))"
    }

    private static func connections(_ count: Int) -> String {
        count == 0 ? "no connection" : count == 1 ? "1 connection" : "\(count) connections"
    }
}

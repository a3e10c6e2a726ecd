/// The figures of a result by name: `--expect` asks for them and `--baseline` compares them.
public struct LoadMetrics: Sendable, Equatable {
    /// The unit of a figure.
    public enum Unit: Sendable, Equatable {
        case count
        case perSecond
        case perCPUSecond
        case microseconds
        case seconds
        case kibibytes
        case ratio
    }

    /// One figure.
    public struct Metric: Sendable, Equatable {
        /// The name.
        public let name: String
        /// The value.
        public let value: Double
        /// The unit.
        public let unit: Unit
        /// Whether a larger value is better; nil if neither is.
        public let isMoreBetter: Bool?
    }

    /// All figures, in the order in which they are printed. Figures of the main phase have plain names; those of
    /// another phase have its name and a dot in front.
    public private(set) var all: [Metric] = []

    /// The figures of a result.
    public init(_ result: LoadResult) {
        if let main = result.phases.first(where: { $0.name == result.mainPhase }) {
            add(main, of: result, prefix: "")
        }
        let verdict = result.verdict
        add("lost", Double(verdict.lost), .count, false)
        add("doubled", Double(verdict.doubled), .count, false)
        add("repeated", Double(verdict.repeated), .count, nil)
        add("strayed", Double(verdict.strayed), .count, false)
        add("altered", Double(verdict.altered), .count, false)
        if let leak = result.leakKiBPerMinute { add("leak", leak, .kibibytes, false) }
        for phase in result.phases { add(phase, of: result, prefix: phase.name + ".") }
    }

    /// The figure of this name.
    public subscript(_ name: String) -> Metric? { all.first { $0.name == name } }

    private mutating func add(_ name: String, _ value: Double, _ unit: Unit, _ isMoreBetter: Bool?) {
        guard value.isFinite else { return }
        all.append(Metric(name: name, value: value, unit: unit, isMoreBetter: isMoreBetter))
    }

    private mutating func add(_ phase: LoadResult.Phase, of result: LoadResult, prefix: String) {
        let delivered = phase.delivered + phase.broadcastsDelivered
        let accepted = phase.accepted + phase.broadcasts
        let cpu = phase.server?.cpuSeconds
        add(prefix + "seconds", phase.seconds, .seconds, nil)
        for (name, count) in [
            ("accepted", accepted), ("delivered", delivered), ("handshakes", phase.connections),
        ] {
            let counted = name == "handshakes" ? "connections" : name
            // A higher connection count is not an improvement: it includes reconnects.
            add(prefix + counted, Double(count), .count, counted == "connections" ? nil : true)
            add(prefix + name + "/s", Double(count) / phase.seconds, .perSecond, true)
            if let cpu, cpu > 0 { add(prefix + name + "/cpu-s", Double(count) / cpu, .perCPUSecond, true) }
        }
        add(prefix + "refused", Double(phase.refused.values.reduce(0, +)), .count, false)
        add(prefix + "unanswered", Double(phase.unanswered), .count, false)
        add(prefix + "backlog", Double(phase.backlog), .count, false)
        add(prefix + "failures", Double(phase.failures.values.reduce(0, +)), .count, false)
        add(prefix + "lost-links", Double(phase.lostLinks.values.reduce(0, +)), .count, false)
        // Percentiles without a prefix are those of deliveries, if there are any.
        add(phase.delivery ?? phase.acceptance, prefix)
        add(phase.acceptance, prefix + "accept.")
        add(phase.delivery, prefix + "delivery.")
        if let processors = result.processors {
            add(prefix + "busy", phase.ownCPUSeconds / phase.seconds / Double(processors), .ratio, nil)
        }
        if let stolen = phase.stolenSeconds { add(prefix + "stolen", stolen / phase.seconds, .ratio, nil) }
        if let server = phase.server {
            add(prefix + "cpu", server.cpuSeconds / phase.seconds, .ratio, nil)
            add(prefix + "pss", Double(server.pssKiB), .kibibytes, false)
            // If most devices have left the server, its memory divided by the rest says nothing about a connection.
            if server.connections > 0, server.connections >= result.devices {
                let grown = Double(server.pssKiB - server.idlePSSKiB)
                add(prefix + "KiB/connection", grown / Double(server.connections), .kibibytes, false)
            }
        }
    }

    private mutating func add(_ latencies: LoadResult.Latencies?, _ prefix: String) {
        guard let latencies else { return }
        for (name, value) in [
            ("min", latencies.minimum), ("mean", latencies.mean), ("p50", latencies.p50),
            ("p90", latencies.p90),
            ("p99", latencies.p99), ("p99.9", latencies.p999), ("p99.99", latencies.p9999),
            ("max", latencies.maximum),
        ] {
            add(prefix + name, value, .microseconds, false)
        }
    }
}

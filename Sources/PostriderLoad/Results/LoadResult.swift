/// The result of a load run: `postrider load --json` writes it, and `--baseline` reads it.
/// docs/reference/load-result.md lists the fields with their units.
public struct LoadResult: Codable, Sendable, Equatable {
    /// The version of this format.
    public static let schemaVersion = 1

    /// A distribution of latencies, in microseconds.
    public struct Latencies: Codable, Sendable, Equatable {
        /// How many values there are.
        public var count: UInt64
        /// The smallest value.
        public var minimum: Double
        /// The mean.
        public var mean: Double
        /// The median.
        public var p50: Double
        /// Nine of ten values are not larger.
        public var p90: Double
        /// 99 of 100 values are not larger.
        public var p99: Double
        /// 999 of 1000 values are not larger.
        public var p999: Double
        /// 9999 of 10,000 values are not larger.
        public var p9999: Double
        /// The largest value.
        public var maximum: Double
        /// Pairs of a quantile (0 to 1) and the value that this share of the latencies does not exceed.
        public var curve: [[Double]]
    }

    /// What the server's process used in a phase.
    public struct Server: Codable, Sendable, Equatable {
        /// Processor time in user mode.
        public var userSeconds: Double
        /// Processor time in the kernel.
        public var systemSeconds: Double
        /// Proportional set size (`/proc/<pid>/smaps_rollup`) when the run began, before any connection.
        public var idlePSSKiB: Int
        /// Proportional set size at the end of the phase.
        public var pssKiB: Int
        /// Connections that the fleet had open at the end of the phase.
        public var connections: Int

        /// Processor time in both modes.
        public var cpuSeconds: Double { userSeconds + systemSeconds }
    }

    /// What was measured in one phase of the scenario.
    public struct Phase: Codable, Sendable, Equatable {
        /// Its name in the scenario.
        public var name: String
        /// How long it lasted.
        public var seconds: Double
        /// Pushes and broadcasts sent.
        public var sent: UInt64
        /// Pushes answered with 200.
        public var accepted: UInt64
        /// Pushes that arrived at their devices.
        public var delivered: UInt64
        /// Broadcasts answered with 200.
        public var broadcasts: UInt64
        /// Broadcasts that arrived at devices, counted once for each device.
        public var broadcastsDelivered: UInt64
        /// Requests with another answer than 200, by reason.
        public var refused: [String: UInt64]
        /// Requests whose connection ended before the answer.
        public var unanswered: UInt64
        /// Connections established.
        public var connections: UInt64
        /// Devices enrolled.
        public var enrolments: UInt64
        /// Attempts to connect that failed, by reason.
        public var failures: [String: UInt64]
        /// Links that ended without the fleet's doing, by reason.
        public var lostLinks: [String: UInt64]
        /// Bytes of HTTP/2 sent, before TLS.
        public var bytesSent: UInt64
        /// Bytes of HTTP/2 received.
        public var bytesReceived: UInt64
        /// Pushes that were due at the end of the phase and had not been sent.
        public var backlog: UInt64
        /// Latencies from the moment at which a push was due to its 200.
        public var acceptance: Latencies?
        /// Latencies from the moment at which a push was due to its arrival at the device.
        public var delivery: Latencies?
        /// The server's process; nil if it cannot be read.
        public var server: Server?
        /// Processor time of the load program itself, in seconds.
        public var ownCPUSeconds: Double
        /// Seconds in which the host of a virtual machine withheld a processor of the load program's machine, averaged
        /// over its processors (steal time). Nil if the kernel does not say, and in results of older versions.
        public var stolenSeconds: Double?
    }

    /// About one second of the run; less at the end of a phase.
    public struct Second: Codable, Sendable, Equatable {
        /// Seconds since the run began.
        public var at: Double
        /// The phase that it belongs to.
        public var phase: String
        /// How long it was; nil in results of older versions.
        public var seconds: Double?
        /// Pushes accepted a second.
        public var accepted: Double
        /// Pushes and broadcasts that arrived a second.
        public var delivered: Double
        /// Pushes refused a second.
        public var refused: Double
        /// Connections established a second.
        public var connections: Double
        /// Median latency of acceptance in microseconds; nil if nothing was accepted.
        public var acceptanceP50: Double?
        /// 99th percentile of it.
        public var acceptanceP99: Double?
        /// Median latency of delivery in microseconds; nil if nothing was delivered.
        public var deliveryP50: Double?
        /// 99th percentile of it.
        public var deliveryP99: Double?
        /// The server's resident memory; nil if it cannot be read.
        public var serverRSSKiB: Int?
    }

    /// Whether every push arrived as it should.
    public struct Verdict: Codable, Sendable, Equatable {
        /// Pushes that were accepted, had to arrive and were not there at the end.
        public var lost: Int
        /// Pushes that arrived twice although the relay had the acknowledgement.
        public var doubled: UInt64
        /// Pushes that arrived twice because a link was cut before the relay had the acknowledgement: the protocol
        /// allows that.
        public var repeated: UInt64
        /// Pushes that arrived at another device than theirs, or were never sent.
        public var strayed: UInt64
        /// Pushes that arrived with another payload.
        public var altered: UInt64
        /// Pushes that were accepted and did not arrive, and did not have to: they were not to be stored and their
        /// device was away. Nil in results of older versions.
        public var excused: Int?
        /// Pushes that arrived although their connection ended before the answer. Nil in results of older versions.
        public var unansweredArrivals: Int?
        /// Pushes of other senders that arrived at devices with tags. Nil if there were none.
        public var others: UInt64?
        /// The `apns-id` of the first lost pushes.
        public var lostIdentities: [String]

        /// Whether nothing was lost, doubled, strayed or altered.
        public var isClean: Bool { lost == 0 && doubled == 0 && strayed == 0 && altered == 0 }
    }

    /// The machine of the load program.
    public struct Machine: Codable, Sendable, Equatable {
        /// How many processors this process may use.
        public var cores: Int
        /// The name of the processor.
        public var processor: String
        /// The release of the kernel.
        public var kernel: String
    }

    /// The version of this format.
    public var schema = LoadResult.schemaVersion
    /// The name of the scenario.
    public var scenario: String
    /// When the run began: milliseconds since 1970.
    public var startedAt: Int64
    /// The machine of the load program.
    public var machine: Machine
    /// How many devices the fleet has.
    public var devices: Int
    /// How many apps each device has.
    public var apps: Int
    /// How many connections the providers have.
    public var providers: Int
    /// The most requests that each of them has open at once.
    public var streams: Int
    /// How many threads drive the fleet.
    public var threads: Int
    /// The most processors that those threads can use at once; nil in results of older versions.
    public var processors: Int?
    /// The phase whose figures stand for the whole run.
    public var mainPhase: String
    /// The phases in the order in which they began.
    public var phases: [Phase]
    /// Whether every push arrived as it should.
    public var verdict: Verdict
    /// What the relay gave up during the run by its own counters, by reason: those of `dropped` in
    /// docs/operate/commands.md, `expired`, `replaced`, and `broadcasts` to slow devices. Nil if the relay does not
    /// say.
    public var relayLosses: [String: UInt64]?
    /// The run, second by second.
    public var timeline: [Second]
    /// How fast the server's memory grew in the second half of the main phase, in KiB a minute; nil if that is not
    /// known.
    public var leakKiBPerMinute: Double?
}

extension LoadResult {
    /// Whether pushes were accepted, but none arrived and none was missed: they went to devices that are not part of
    /// this fleet, or that are away.
    var isUnseen: Bool {
        verdict.isClean && phases.contains { $0.accepted + $0.broadcasts > 0 }
            && phases.allSatisfy { $0.delivered + $0.broadcastsDelivered == 0 }
    }
}

extension LoadResult.Latencies {
    /// Nil if the histogram has no values.
    init?(_ histogram: LatencyHistogram) {
        guard histogram.count > 0 else { return nil }
        func at(_ quantile: Double) -> Double { Double(histogram.value(atQuantile: quantile)) / 1000 }
        count = histogram.count
        minimum = Double(histogram.minimum) / 1000
        mean = histogram.mean / 1000
        p50 = at(0.5)
        p90 = at(0.9)
        p99 = at(0.99)
        p999 = at(0.999)
        p9999 = at(0.9999)
        maximum = Double(histogram.maximum) / 1000
        curve = Self.quantiles(of: histogram.count).map { [$0, at($0)] }
    }

    /// Ten steps for each decimal place, up to the last value: 0, 0.1 … 0.9, 0.91 … 0.99, 0.991 …
    static func quantiles(of count: UInt64) -> [Double] {
        var quantiles: [Double] = []
        var rest = 1.0
        while rest > 1 / Double(count) {
            for step in 0..<9 { quantiles.append(1 - rest + rest * Double(step) / 10) }
            rest /= 10
        }
        return quantiles + [1]
    }
}

extension LoadResult.Phase {
    /// The result of a phase, from what the fleet has measured and the server has used.
    init(
        name: String, _ record: PhaseRecord, backlog: UInt64, server: LoadResult.Server?,
        ownCPUSeconds: Double, stolenSeconds: Double?
    ) {
        let tally = record.tally
        self.name = name
        seconds = Double(record.nanoseconds) / 1e9
        sent = tally.sent
        accepted = tally.accepted
        delivered = tally.delivered
        broadcasts = tally.broadcasts
        broadcastsDelivered = tally.broadcastsDelivered
        refused = tally.refused
        unanswered = tally.unanswered
        connections = tally.connections
        enrolments = tally.enrolments
        failures = tally.failures
        lostLinks = tally.lostLinks
        bytesSent = tally.bytesSent
        bytesReceived = tally.bytesReceived
        self.backlog = backlog
        acceptance = LoadResult.Latencies(record.acceptance)
        delivery = LoadResult.Latencies(record.delivery)
        self.server = server
        self.ownCPUSeconds = ownCPUSeconds
        self.stolenSeconds = stolenSeconds
    }
}

/// The result of a load run: `postrider load --json` prints it, and `--baseline` reads it.
/// docs/reference/load-result.md has the fields with their units.
public struct LoadResult: Codable, Sendable, Equatable {
    /// The form of this document.
    public static let schemaVersion = 1

    /// A distribution of latencies, in microseconds.
    public struct Latencies: Codable, Sendable, Equatable {
        /// How many there are.
        public var count: UInt64
        /// The shortest.
        public var minimum: Double
        /// The mean.
        public var mean: Double
        /// The median.
        public var p50: Double
        /// Nine of ten are not longer.
        public var p90: Double
        /// 99 of 100 are not longer.
        public var p99: Double
        /// 999 of 1000 are not longer.
        public var p999: Double
        /// 9999 of 10,000 are not longer.
        public var p9999: Double
        /// The longest.
        public var maximum: Double
        /// Pairs of a quantile (0 to 1) and the latency that it does not exceed.
        public var curve: [[Double]]
    }

    /// The server's process in a phase.
    public struct Server: Codable, Sendable, Equatable {
        /// Processor time in user mode.
        public var userSeconds: Double
        /// Processor time in the kernel.
        public var systemSeconds: Double
        /// Proportional set size (`/proc/<pid>/smaps_rollup`) when the run began, before any connection.
        public var idlePSSKiB: Int
        /// The same at the end of the phase.
        public var pssKiB: Int
        /// Connections that the fleet had open at the end of the phase.
        public var connections: Int

        /// Processor time.
        public var cpuSeconds: Double { userSeconds + systemSeconds }
    }

    /// What was measured from one point of the scenario to another.
    public struct Phase: Codable, Sendable, Equatable {
        /// What the scenario calls it.
        public var name: String
        /// How long it lasted.
        public var seconds: Double
        /// Pushes and broadcasts sent.
        public var sent: UInt64
        /// Pushes answered with 200.
        public var accepted: UInt64
        /// Pushes that came to their devices.
        public var delivered: UInt64
        /// Broadcasts answered with 200.
        public var broadcasts: UInt64
        /// Broadcasts that came to devices: one for each device.
        public var broadcastsDelivered: UInt64
        /// Answers other than 200, by reason.
        public var refused: [String: UInt64]
        /// Requests whose connection ended before the answer.
        public var unanswered: UInt64
        /// Connections established.
        public var connections: UInt64
        /// Devices enrolled.
        public var enrolments: UInt64
        /// Attempts to connect that failed, by reason.
        public var failures: [String: UInt64]
        /// Links that ended though nobody in the fleet wanted that, by reason.
        public var lostLinks: [String: UInt64]
        /// Bytes of HTTP/2 sent, before TLS.
        public var bytesSent: UInt64
        /// Bytes of HTTP/2 received.
        public var bytesReceived: UInt64
        /// Pushes that were due at the end of the phase and had not left.
        public var backlog: UInt64
        /// From the moment at which a push was due to its 200.
        public var acceptance: Latencies?
        /// From the moment at which a push was due to the device's having it.
        public var delivery: Latencies?
        /// Nil where the server cannot be looked at.
        public var server: Server?
        /// CPU seconds of the load program itself.
        public var ownCPUSeconds: Double
        /// Seconds in which a processor of the load program's machine, on average, was withheld by the machine's host;
        /// nil where it does not say, and in results from before this was noted.
        public var stolenSeconds: Double?
    }

    /// About one second of the run; less where a phase ends.
    public struct Second: Codable, Sendable, Equatable {
        /// Seconds since the run began.
        public var at: Double
        /// The phase that it belongs to.
        public var phase: String
        /// How long it was; nil in results from before this was noted.
        public var seconds: Double?
        /// A second.
        public var accepted: Double
        /// A second.
        public var delivered: Double
        /// A second.
        public var refused: Double
        /// A second.
        public var connections: Double
        /// Microseconds; nil where nothing was accepted.
        public var acceptanceP50: Double?
        /// The same.
        public var acceptanceP99: Double?
        /// Microseconds; nil where nothing was delivered.
        public var deliveryP50: Double?
        /// The same.
        public var deliveryP99: Double?
        /// The server's resident memory; nil where it cannot be looked at.
        public var serverRSSKiB: Int?
    }

    /// Whether everything came as it should.
    public struct Verdict: Codable, Sendable, Equatable {
        /// Accepted, due to arrive, and not there at the end.
        public var lost: Int
        /// Came twice though the relay had the first acknowledgement.
        public var doubled: UInt64
        /// Came twice because a link was cut before its acknowledgement was known: the protocol allows it.
        public var repeated: UInt64
        /// Came to a device that it was not for, or was never sent.
        public var strayed: UInt64
        /// Came with another payload.
        public var altered: UInt64
        /// Accepted, not due to arrive, and not there: now or never for a device that was away. Nil in results from
        /// before this was noted.
        public var excused: Int?
        /// Arrived, though their connections ended before their answers. Nil likewise.
        public var unansweredArrivals: Int?
        /// `apns-id` of the first that were lost.
        public var lostIdentities: [String]

        /// Whether nothing was lost, doubled, strayed or altered.
        public var isClean: Bool { lost == 0 && doubled == 0 && strayed == 0 && altered == 0 }
    }

    /// Where it was measured.
    public struct Machine: Codable, Sendable, Equatable {
        /// Processors that this process may use.
        public var cores: Int
        /// What the processor calls itself.
        public var processor: String
        /// The release of the kernel.
        public var kernel: String
    }

    /// The form of this document.
    public var schema = LoadResult.schemaVersion
    /// What was carried out.
    public var scenario: String
    /// Milliseconds since 1970.
    public var startedAt: Int64
    /// Where it was measured.
    public var machine: Machine
    /// Devices of the fleet.
    public var devices: Int
    /// Apps on each of them.
    public var apps: Int
    /// Providers' connections.
    public var providers: Int
    /// Requests that each of them had open at most.
    public var streams: Int
    /// Event loops that drove them.
    public var threads: Int
    /// How many processors those could take at most; nil in results from before this was noted.
    public var processors: Int?
    /// The phase that stands for the whole.
    public var mainPhase: String
    /// In the order in which they began.
    public var phases: [Phase]
    /// Whether everything came.
    public var verdict: Verdict
    /// What the relay gave up during the run by its own counts, by reason: those of `dropped` in
    /// docs/operate/commands.md, `expired`, `replaced`, and `broadcasts` to slow devices. Nil where it does not say.
    public var relayLosses: [String: UInt64]?
    /// Second by second.
    public var timeline: [Second]
    /// How fast the server's memory grew in the second half of the main phase, KiB a minute; nil where that is not
    /// known.
    public var leakKiBPerMinute: Double?
}

extension LoadResult {
    /// Whether pushes were accepted and nobody saw one arrive or missed one: the devices are others, or away.
    var isUnseen: Bool {
        verdict.isClean && phases.contains { $0.accepted + $0.broadcasts > 0 }
            && phases.allSatisfy { $0.delivered + $0.broadcastsDelivered == 0 }
    }
}

extension LoadResult.Latencies {
    /// Nil where there are no values.
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

    /// Ten steps for each decimal place, down to the last value: 0, 0.1 … 0.9, 0.91 … 0.99, 0.991 …
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
    /// What a fleet has measured, and what the server took for it.
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

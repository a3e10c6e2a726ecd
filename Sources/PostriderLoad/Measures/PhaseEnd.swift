extension LoadRun {
    /// What ``LoadRun`` reads at the beginning and at the end of a phase.
    struct PhaseSample {
        /// The server's process; nil if it cannot be read.
        var server: ProcessProbe.ProbeSample?
        var own: ProcessProbe.ProbeSample?
        /// ``StolenTime``.
        var stolenSeconds: Double?
    }

    /// What ``LoadRun`` has read about a phase, summed over all the times that the run was in it.
    struct PhaseEnd {
        var server: LoadResult.Server?
        var ownCPUSeconds = 0.0
        var stolenSeconds: Double?
        var backlog: UInt64 = 0
        /// How long the run waited in vain, after the last event.
        var vainNanoseconds: UInt64 = 0

        /// Adds one stay in the phase.
        mutating func add(from before: PhaseSample, to now: PhaseSample, idlePSSKiB: Int, connections: Int) {
            if let before = before.own, let now = now.own {
                ownCPUSeconds += Self.seconds(
                    now.userTicks + now.systemTicks - before.userTicks - before.systemTicks)
            }
            if let before = before.stolenSeconds, let now = now.stolenSeconds {
                stolenSeconds = (stolenSeconds ?? 0) + now - before
            }
            if let before = before.server, let now = now.server {
                server = LoadResult.Server(
                    userSeconds: (server?.userSeconds ?? 0) + Self.seconds(now.userTicks - before.userTicks),
                    systemSeconds: (server?.systemSeconds ?? 0)
                        + Self.seconds(now.systemTicks - before.systemTicks),
                    idlePSSKiB: idlePSSKiB, pssKiB: now.pssKiB, connections: connections)
            }
        }

        private static func seconds(_ ticks: UInt64) -> Double { Double(ticks) / ProcessProbe.ticksPerSecond }
    }
}

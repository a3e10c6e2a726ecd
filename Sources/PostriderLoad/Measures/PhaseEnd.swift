extension LoadRun {
    /// What the director sees where a phase begins, and where it ends.
    struct PhaseSample {
        /// Nil where the server cannot be looked at.
        var server: ProcessProbe.ProbeSample?
        var own: ProcessProbe.ProbeSample?
        /// ``StolenTime``.
        var stolenSeconds: Double?
    }

    /// What the director has seen of a phase, over all of its stays in it.
    struct PhaseEnd {
        var server: LoadResult.Server?
        var ownCPUSeconds = 0.0
        var stolenSeconds: Double?
        var backlog: UInt64 = 0
        /// How long nothing came any more, though something was waited for.
        var vainNanoseconds: UInt64 = 0

        /// One more stay has ended.
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

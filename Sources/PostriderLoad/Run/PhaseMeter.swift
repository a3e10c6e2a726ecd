import FoundationEssentials

/// Measures the server's process and this one at the beginning and the end of each phase.
struct PhaseMeter {
    /// What was read about each phase that has ended, by name.
    private(set) var ends: [String: LoadRun.PhaseEnd] = [:]
    private let server: ProcessProbe?
    private let own = ProcessProbe(process: ProcessInfo.processInfo.processIdentifier)
    /// The last phase that has begun; empty before the first.
    private(set) var phase = ""
    private var begin = LoadRun.PhaseSample()
    /// The memory of the server before devices were connected.
    private var idlePSSKiB = 0

    /// - Parameter server: the process of the server; nil if it is not on this machine.
    init(server: Int32?) { self.server = server.map { ProcessProbe(process: $0) } }

    /// The server's memory; nil if its process is not known.
    var residentKiB: Int? { server?.residentKiB() }

    /// The run begins: no device is connected.
    mutating func runBegins() { idlePSSKiB = server?.look()?.pssKiB ?? 0 }

    /// A phase begins.
    mutating func enter(_ name: String) {
        phase = name
        begin = look()
    }

    /// The current phase ends, if there is one.
    mutating func leave(backlog: UInt64, connections: Int) {
        guard !phase.isEmpty else { return }
        var end = ends[phase] ?? LoadRun.PhaseEnd()
        end.backlog += backlog
        end.add(from: begin, to: look(), idlePSSKiB: idlePSSKiB, connections: connections)
        ends[phase] = end
    }

    /// The current phase has waited for this time, and nothing came.
    mutating func noteVain(milliseconds: Int) {
        ends[phase, default: LoadRun.PhaseEnd()].vainNanoseconds += UInt64(milliseconds) * 1_000_000
    }

    private func look() -> LoadRun.PhaseSample {
        LoadRun.PhaseSample(server: server?.look(), own: own.look(), stolenSeconds: StolenTime.seconds())
    }
}

import FoundationEssentials
import Glibc
import PostriderNotifications

/// Reads from /proc what a process of this machine has used of processor and memory.
struct ProcessProbe {
    /// What was read at one moment.
    struct ProbeSample: Equatable {
        /// Clock ticks in user and in kernel mode.
        var userTicks: UInt64 = 0
        var systemTicks: UInt64 = 0
        var pssKiB = 0
    }

    /// Clock ticks of a second, as the kernel counts them for programs (`sysconf(_SC_CLK_TCK)` on Linux).
    static let ticksPerSecond = 100.0

    private let folder: String

    /// A process by its number.
    init(process: Int32) { folder = "/proc/\(process)" }

    /// Reads the process now; nil if it is gone or belongs to somebody else.
    func look() -> ProbeSample? {
        guard let stat = text("stat"), let ticks = Self.ticks(stat: stat) else { return nil }
        guard let rollup = text("smaps_rollup"), let pss = Self.pss(rollup: rollup) else { return nil }
        return ProbeSample(userTicks: ticks.user, systemTicks: ticks.system, pssKiB: pss)
    }

    /// Resident memory now. This is cheap to read.
    func residentKiB() -> Int? {
        text("statm").flatMap { Self.resident(statm: $0, pageKiB: sysconf(Int32(_SC_PAGESIZE)) / 1024) }
    }

    /// Ticks in /proc/<pid>/stat. The second field is a name in parentheses that may hold anything.
    static func ticks(stat: String) -> (user: UInt64, system: UInt64)? {
        guard let end = stat.lastIndex(of: ")") else { return nil }
        let fields = stat[stat.index(after: end)...].split(separator: " ")
        // The first field here is field 3 of the file; 14 and 15 are utime and stime (man 5 proc).
        guard fields.count > 12, let user = UInt64(fields[11]), let system = UInt64(fields[12]) else {
            return nil
        }
        return (user, system)
    }

    /// `Pss:` of /proc/<pid>/smaps_rollup, in KiB.
    static func pss(rollup: String) -> Int? {
        for line in rollup.split(separator: "\n") where line.hasPrefix("Pss:") {
            return line.split(separator: " ").dropFirst().first.flatMap { Int($0) }
        }
        return nil
    }

    /// The second field of /proc/<pid>/statm, which counts pages: of 4 KiB or, with some kernels for ARM, of 16 or 64.
    static func resident(statm: String, pageKiB: Int) -> Int? {
        statm.split(separator: " ").dropFirst().first.flatMap { Int($0) }.map { $0 * pageKiB }
    }

    private func text(_ name: String) -> String? {
        FileManager.default.contents(atPath: "\(folder)/\(name)").map { String(decoding: $0, as: UTF8.self) }
    }
}

extension LoadResult.Machine {
    /// The machine that this program runs on.
    static var current: LoadResult.Machine {
        let cpuinfo = (try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8)) ?? ""
        let model = cpuinfo.split(separator: "\n").first { $0.hasPrefix("model name") }
        let name =
            model?.split(separator: ":").last.map { $0.trimmed } ?? "unknown"
        let release = (try? String(contentsOfFile: "/proc/sys/kernel/osrelease", encoding: .utf8)) ?? ""
        return LoadResult.Machine(
            cores: ProcessInfo.processInfo.activeProcessorCount, processor: name,
            kernel: release.trimmed)
    }
}

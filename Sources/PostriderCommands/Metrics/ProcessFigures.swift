import FoundationEssentials
import Glibc
package import PostriderMetrics
import PostriderTransport

/// The metrics of the process that every Prometheus client library exports ("Writing client libraries", "Process
/// metrics").
package enum ProcessFigures {
    /// The metric families. Figures that Linux does not report are missing.
    package static func families(version: String, role: String) -> [MetricFamily] {
        var build = MetricFamily("postrider_build_info", .gauge, "1; the labels say what runs.")
        build.add(1, ("version", version), ("role", role))
        var families = [build]
        if let fields = fields() {
            let ticks = Double(max(1, sysconf(Int32(_SC_CLK_TCK))))
            var cpu = MetricFamily("process_cpu_seconds_total", .counter, "CPU time, user and system.")
            cpu.add((fields.user + fields.system) / ticks)
            let boot = Date().timeIntervalSince1970 - ProcessInfo.processInfo.systemUptime
            let start = boot + fields.start / ticks
            families += [
                cpu,
                .gauge("process_start_time_seconds", start.rounded(), "Start, in seconds since 1970."),
                .gauge("process_virtual_memory_bytes", Int(fields.virtualBytes), "Virtual memory."),
                .gauge(
                    "process_resident_memory_bytes",
                    Int(fields.residentPages) * Int(sysconf(Int32(_SC_PAGESIZE))),
                    "Resident memory."),
            ]
        }
        if let open = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count {
            families.append(.gauge("process_open_fds", open, "Open file descriptors."))
        }
        families.append(.gauge("process_max_fds", Descriptors.limit, "File descriptors that may be open."))
        return families
    }

    private struct Fields {
        let user: Double
        let system: Double
        let start: Double
        let virtualBytes: Double
        let residentPages: Double
    }

    /// Reads /proc/self/stat (proc_pid_stat(5)). The name of the program may contain spaces, and ends with a bracket.
    private static func fields() -> Fields? {
        guard let text = try? String(contentsOfFile: "/proc/self/stat", encoding: .utf8),
            let bracket = text.lastIndex(of: ")")
        else { return nil }
        let words = text[text.index(after: bracket)...].split(separator: " ")
        // The first word after the name is field 3.
        func field(_ number: Int) -> Double? { words.count > number - 3 ? Double(words[number - 3]) : nil }
        guard let user = field(14), let system = field(15), let start = field(22), let size = field(23),
            let pages = field(24)
        else { return nil }
        return Fields(user: user, system: system, start: start, virtualBytes: size, residentPages: pages)
    }
}

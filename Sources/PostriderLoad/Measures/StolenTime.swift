import FoundationEssentials

/// Time in which this machine's processors had work and could not run: a virtual machine's host gave them to others, or
/// the machine had used up its share. It is part of all measured latencies, and the load program can do nothing against
/// it.
enum StolenTime {
    /// How many seconds were stolen since the machine started, averaged over its processors; nil if the kernel does not
    /// say.
    static func seconds() -> Double? {
        (try? String(contentsOfFile: "/proc/stat", encoding: .utf8)).flatMap { seconds(stat: $0) }
    }

    /// The same, read from the text of /proc/stat: a line for all processors and one for each, whose ninth word counts
    /// ticks (man 5 proc).
    static func seconds(stat: String) -> Double? {
        let lines = stat.split(separator: "\n").prefix { $0.hasPrefix("cpu") }
        let fields = lines.first?.split(separator: " ") ?? []
        guard lines.count > 1, fields.count > 8, let ticks = UInt64(fields[8]) else { return nil }
        return Double(ticks) / ProcessProbe.ticksPerSecond / Double(lines.count - 1)
    }
}

import Foundation

/// Time in which this machine's processors had something to do and did not run: a virtual machine's host gave them to
/// others, or had given this machine what it is allowed to use. Latencies count it, and nothing here can be made better
/// against it.
enum StolenTime {
    /// Seconds since the machine began, of a processor on average; nil where the kernel does not say.
    static func seconds() -> Double? {
        (try? String(contentsOfFile: "/proc/stat", encoding: .utf8)).flatMap { seconds(stat: $0) }
    }

    /// The same, of the text of /proc/stat: a line for all processors and one for each, whose ninth word counts ticks
    /// (man 5 proc).
    static func seconds(stat: String) -> Double? {
        let lines = stat.split(separator: "\n").prefix { $0.hasPrefix("cpu") }
        let fields = lines.first?.split(separator: " ") ?? []
        guard lines.count > 1, fields.count > 8, let ticks = UInt64(fields[8]) else { return nil }
        return Double(ticks) / ProcessProbe.ticksPerSecond / Double(lines.count - 1)
    }
}

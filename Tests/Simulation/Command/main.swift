import Foundation

// Runs seeds for a given time: `make simulate`.
//
// usage: simulate FIRST LAST MINUTES PLACE
//
// The file PLACE contains the current seed: if the relay ends the process, run.sh reads the seed there.

/// The parsed arguments.
struct Order {
    let seeds: ClosedRange<UInt64>
    let minutes: Double
    let place: String

    init?(_ arguments: [String]) {
        guard arguments.count == 4, let first = UInt64(arguments[0]), let last = UInt64(arguments[1]),
            first <= last, let minutes = Double(arguments[2]), minutes > 0
        else { return nil }
        (seeds, self.minutes, place) = (first...last, minutes, arguments[3])
    }
}

func tell(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }

/// Runs one seed after the other until there is a finding, or no seed or time is left. Returns true if nothing was
/// found.
func run(_ order: Order) throws -> Bool {
    let start = ContinuousClock.now
    var (events, count, told) = (0, 0, start)
    for seed in order.seeds {
        try Data("\(seed)\n".utf8).write(to: URL(filePath: order.place))
        let run = try Run(seed: seed)
        events += run.events
        count += 1
        let now = ContinuousClock.now
        guard run.findings.isEmpty else {
            tell("seed \(seed): \(run.summary)")
            for finding in run.findings { tell("seed \(seed) found · \(finding)") }
            tell("see it again with: make simulate SEEDS=\(seed)..\(seed)")
            return false
        }
        let isLast = seed == order.seeds.upperBound || now - start > .seconds(order.minutes * 60)
        if isLast || now - told > .seconds(10) {
            told = now
            let rate = Int(Double(events) / ((now - start) / .seconds(1)))
            tell("\(count) seeds to \(seed), \(events) events, \(rate) events/s: nothing found")
        }
        if isLast { break }
    }
    return true
}

guard let order = Order(Array(CommandLine.arguments.dropFirst())) else {
    FileHandle.standardError.write(Data("usage: simulate FIRST LAST MINUTES PLACE\n".utf8))
    exit(2)
}
exit(try run(order) ? 0 : 1)

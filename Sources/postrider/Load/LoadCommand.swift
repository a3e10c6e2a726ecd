import FoundationEssentials
import Glibc
import PostriderCommands
import PostriderLoad
import PostriderOptions
import PostriderSystem
import PostriderTransport

/// `postrider load`: loads a server with providers and devices, and measures it.
enum LoadCommand: Command {
    static let name = "load"
    static let summary = "Load a relay with many providers and devices, and report what happened."
    static let endsInGoodOrder = true

    static func run(_ arguments: [String]) async throws -> Int32 {
        guard let options = try table.parseOrHelp(arguments) else { return 0 }
        let order = try LoadArguments(options)
        guard let outcome = try await measure(order) else { return 130 }
        let result = outcome.result
        if order.isJSON {
            Console.say(try Console.json(result))
        } else {
            Console.say(ResultTable.text(result))
        }
        let comparison = order.baseline.map { Comparison(of: result, with: $0).text }
        if let comparison, !order.isJSON { Console.say("\n" + comparison) }
        let isWritten = try writeFiles(result, order)
        let metrics = LoadMetrics(result)
        let misses = order.expectations.compactMap { $0.miss(in: metrics) }
        for miss in misses { Console.complain("postrider: \(miss)") }
        let isExpected = order.expectations.contains(where: \.isOfAnswers)
        let futility = isExpected ? nil : result.futility(of: order.plan)
        if let futility { Console.complain("postrider: \(futility)") }
        let isGood = result.verdict.isClean && futility == nil && misses.isEmpty
        return isGood && outcome.isTidy && isWritten ? 0 : 1
    }

    /// Writes the result files. An error with one does not prevent the other. Returns whether all were written.
    private static func writeFiles(_ result: LoadResult, _ order: LoadArguments) throws -> Bool {
        var files: [(path: String, text: String)] = []
        if let file = order.saveFile { files.append((file, try Console.json(result) + "\n")) }
        if let file = order.reportFile {
            files.append((file, ResultPage.html(result, baseline: order.baseline)))
        }
        var isWritten = true
        for file in files {
            do throws(CommandFailure) {
                try FileText.write(file.text, to: file.path)
            } catch {
                Console.complain("postrider: \(error)")
                isWritten = false
            }
        }
        return isWritten
    }

    /// Runs the plan; nil if the user has ended it.
    private static func measure(_ order: LoadArguments) async throws -> LoadArguments.Outcome? {
        let requests = try Termination.requests()
        return try await withThrowingTaskGroup(of: LoadArguments.Outcome?.self) { group in
            group.addTask { try await order.carryOut(watch: ProgressLine.watch) }
            group.addTask {
                for await request in requests where request == .end { break }
                return nil
            }
            let first = try await group.next() ?? nil
            group.cancelAll()
            return first
        }
    }
}

/// The line that shows the progress of a run on a terminal.
enum ProgressLine {
    /// Writes the progress to stderr; nil if that is not a terminal.
    static var watch: (@Sendable (LoadProgress) -> Void)? {
        guard isatty(STDERR_FILENO) == 1 else { return nil }
        return { progress in
            let text = "\r\u{1B}[K\(line(progress))"
            try? StandardStream.errors.write(text)
        }
    }

    /// Clears the line.
    static func end() {
        guard isatty(STDERR_FILENO) == 1 else { return }
        try? StandardStream.errors.write("\r\u{1B}[K")
    }

    static func line(_ progress: LoadProgress) -> String {
        let rate = LoadMetrics.Unit.perSecond
        var parts = [
            "\(Int(progress.seconds)) s", progress.phase, "\(progress.ready) devices",
            "\(rate.text(progress.accepted)) accepted/s", "\(rate.text(progress.delivered)) delivered/s",
        ]
        if let p50 = progress.p50, let p99 = progress.p99 {
            let unit = LoadMetrics.Unit.microseconds
            parts.append("p50 \(unit.text(p50)), p99 \(unit.text(p99))")
        }
        if progress.refused > 0 { parts.append("\(progress.refused) refused") }
        if progress.missing > 0 { parts.append("\(progress.missing) on their way") }
        return parts.joined(separator: " · ")
    }
}

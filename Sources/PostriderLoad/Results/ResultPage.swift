import Glibc

/// A result as one HTML page that loads nothing else.
public enum ResultPage {
    /// Makes the page. `baseline`: an earlier result to show beside it.
    public static func html(_ result: LoadResult, baseline: LoadResult? = nil) -> String {
        let table = ResultTable.text(result)
        let comparison = baseline.map { Comparison(of: result, with: $0).text }
        let plots = [percentiles(result), throughput(result), latency(result), memory(result)].map(\.svg)
        let verdict =
            result.isUnseen
            ? "what was lost cannot be seen"
            : result.verdict.isClean ? "nothing lost, nothing doubled" : "not everything came as it should"
        return """
            <!doctype html>
            <html lang="en">
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width">
            <title>postrider load: \(escaped(result.scenario))</title>
            <style>
            :root { color-scheme: light dark; }
            body { font: 15px/1.45 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; }
            body { padding: 0 1rem; }
            pre { overflow-x: auto; font-size: 12.5px; }
            svg { width: 100%; max-width: 760px; display: block; margin: 1.5rem 0; }
            svg text { font: 12px system-ui, sans-serif; fill: currentColor; }
            svg .title { font-weight: 600; font-size: 14px; }
            svg .end { text-anchor: end; }
            svg .middle { text-anchor: middle; }
            svg .grid { stroke: currentColor; opacity: .15; }
            svg polyline { fill: none; stroke-width: 2; stroke-linejoin: round; stroke-linecap: round; }
            </style>
            <h1>postrider load: \(escaped(result.scenario))</h1>
            <p>\(escaped(result.machine.processor)), \(result.machine.cores) cores, Linux
            \(escaped(result.machine.kernel)): <strong>\(verdict)</strong>.</p>
            <pre>\(escaped(table))</pre>
            \(plots.joined(separator: "\n"))
            \(comparison.map { "<h2>Compared with an earlier run</h2>\n<pre>\(escaped($0))</pre>" } ?? "")
            </html>

            """
    }

    private static func percentiles(_ result: LoadResult) -> Plot {
        let main = result.phases.first { $0.name == result.mainPhase }
        var lines: [Plot.Line] = []
        for (name, latencies) in [("delivered", main?.delivery), ("accepted", main?.acceptance)] {
            guard let latencies else { continue }
            let points = latencies.curve.filter { $0[0] < 1 }.map { (x: nines($0[0]), y: $0[1]) }
            lines.append(Plot.Line(name: name, points: points))
        }
        let marks = [
            (0.0, "0"), (0.301, "50 %"), (1, "90 %"), (2, "99 %"), (3, "99.9 %"), (4, "99.99 %"),
            (5, "99.999 %"),
        ]
        let most = lines.flatMap(\.points).map(\.x).max() ?? 0
        return Plot(
            title: "Latency in the phase \(escaped(result.mainPhase))", xLabel: "share of pushes",
            unit: .microseconds, lines: lines, isLogarithmic: true, xMarks: marks.filter { $0.0 <= most })
    }

    /// How many nines a quantile has: 1 for 0.9, 2 for 0.99.
    private static func nines(_ quantile: Double) -> Double { -log10(1 - quantile) }

    private static func throughput(_ result: LoadResult) -> Plot {
        Plot(
            title: "Throughput, a second", xLabel: "seconds",
            lines: [
                .init(name: "delivered", points: result.timeline.map { ($0.at, $0.delivered) }),
                .init(name: "accepted", points: result.timeline.map { ($0.at, $0.accepted) }),
                .init(name: "refused", points: result.timeline.map { ($0.at, $0.refused) }),
                .init(name: "connections", points: result.timeline.map { ($0.at, $0.connections) }),
            ].filter { $0.points.contains { $0.y > 0 } })
    }

    private static func latency(_ result: LoadResult) -> Plot {
        func line(_ name: String, _ value: (LoadResult.Second) -> Double?) -> Plot.Line {
            Plot.Line(
                name: name,
                points: result.timeline.compactMap { second in value(second).map { (second.at, $0) } })
        }
        return Plot(
            title: "Latency over time", xLabel: "seconds", unit: .microseconds,
            lines: [
                line("delivered p50") { $0.deliveryP50 }, line("delivered p99") { $0.deliveryP99 },
                line("accepted p50") { $0.acceptanceP50 }, line("accepted p99") { $0.acceptanceP99 },
            ].filter { !$0.points.isEmpty }, isLogarithmic: true)
    }

    private static func memory(_ result: LoadResult) -> Plot {
        let points = result.timeline.compactMap { second in
            second.serverRSSKiB.map { (x: second.at, y: Double($0) / 1024) }
        }
        return Plot(
            title: "The server's resident memory, MiB", xLabel: "seconds",
            lines: points.isEmpty ? [] : [.init(name: "", points: points)])
    }

    private static func escaped(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
            .replacing("\"", with: "&quot;")
    }
}

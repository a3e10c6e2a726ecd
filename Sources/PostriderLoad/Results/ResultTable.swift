/// A result as lines for a terminal.
public enum ResultTable {
    /// The phases and the verdict.
    public static func text(_ result: LoadResult) -> String {
        let fleet =
            "\(result.scenario): \(result.devices) devices × \(result.apps) apps, "
            + "\(result.providers) providers × \(result.streams) streams, \(result.threads) threads"
        var lines = [fleet, ""] + counts(result) + [""] + latencies(result)
        let servers = server(result)
        if !servers.isEmpty { lines += [""] + servers }
        for phase in result.phases { lines += problems(phase) }
        lines += intrusions(result)
        return (lines + [""] + verdict(result)).joined(separator: "\n")
    }

    private static func counts(_ result: LoadResult) -> [String] {
        let head = [
            "phase", "seconds", "accepted", "/s", "delivered", "/s", "refused", "connections", "/s",
            "MiB out", "in",
        ]
        let rows = result.phases.map { phase in
            let (accepted, delivered) = (
                phase.accepted + phase.broadcasts, phase.delivered + phase.broadcastsDelivered
            )
            func rate(_ count: UInt64) -> String {
                LoadMetrics.Unit.perSecond.text(Double(count) / max(phase.seconds, 0.001))
            }
            func mebibytes(_ bytes: UInt64) -> String {
                LoadMetrics.Unit.count.text(Double(bytes) / 1_048_576)
            }
            return [
                phase.name, LoadMetrics.Unit.ratio.text(phase.seconds), number(accepted), rate(accepted),
                number(delivered), rate(delivered), number(phase.refused.values.reduce(0, +)),
                number(phase.connections), rate(phase.connections), mebibytes(phase.bytesSent),
                mebibytes(phase.bytesReceived),
            ]
        }
        return columns([head] + rows)
    }

    private static func latencies(_ result: LoadResult) -> [String] {
        let head = ["latency", "", "p50", "p90", "p99", "p99.9", "p99.99", "max"]
        var rows: [[String]] = []
        for phase in result.phases {
            for (name, latencies) in [("accepted", phase.acceptance), ("delivered", phase.delivery)] {
                guard let latencies else { continue }
                let values = [
                    latencies.p50, latencies.p90, latencies.p99, latencies.p999, latencies.p9999,
                    latencies.maximum,
                ]
                rows.append([phase.name, name] + values.map { LoadMetrics.Unit.microseconds.text($0) })
            }
        }
        return rows.isEmpty ? ["no latencies: nothing was accepted"] : columns([head] + rows)
    }

    private static func server(_ result: LoadResult) -> [String] {
        let head = [
            "server", "CPU s", "user", "system", "accepted/CPU s", "delivered/CPU s", "handshakes/CPU s",
            "PSS MiB",
            "KiB/connection", "load's CPU s",
        ]
        let metrics = LoadMetrics(result)
        let rows = result.phases.compactMap { phase -> [String]? in
            guard let server = phase.server else { return nil }
            func metric(_ name: String) -> String {
                guard let metric = metrics["\(phase.name).\(name)"], metric.value != 0 else { return "–" }
                return LoadMetrics.Unit.ratio.text(metric.value)
            }
            return [
                phase.name, decimals(server.cpuSeconds), decimals(server.userSeconds),
                decimals(server.systemSeconds),
                metric("accepted/cpu-s"), metric("delivered/cpu-s"), metric("handshakes/cpu-s"),
                LoadMetrics.Unit.ratio.text(Double(server.pssKiB) / 1024), metric("KiB/connection"),
                decimals(phase.ownCPUSeconds),
            ]
        }
        return rows.isEmpty ? [] : columns([head] + rows)
    }

    private static func problems(_ phase: LoadResult.Phase) -> [String] {
        var lines: [String] = []
        for (words, reasons) in [
            ("refused", phase.refused), ("failed to connect", phase.failures),
            ("lost a link", phase.lostLinks),
        ] {
            for (reason, count) in reasons.sorted(by: { ($1.value, $0.key) < ($0.value, $1.key) }) {
                lines.append("\(phase.name): \(words) \(number(count)) × \(reason)")
            }
        }
        if phase.unanswered > 0 { lines.append("\(phase.name): unanswered \(number(phase.unanswered))") }
        if phase.backlog > 0 { lines.append("\(phase.name): due and not sent \(number(phase.backlog))") }
        return lines
    }

    /// Figures above which the latencies are in part not the server's; with each, what it means and what helps.
    private static let intrusions: [(figure: String, least: Double, meaning: String, advice: String)] = [
        (
            "busy", 0.9, "the load program had hardly a moment to spare",
            "latencies count its own delays; more --threads on more processors shorten them"
        ),
        (
            "stolen", 0.01, "this machine's host withheld its processors for a part of the time",
            "latencies count that, too; it is less where more is spare"
        ),
    ]

    private static func intrusions(_ result: LoadResult) -> [String] {
        let metrics = LoadMetrics(result)
        return intrusions.flatMap { figure, least, meaning, advice in
            result.phases.compactMap { phase in
                guard let value = metrics["\(phase.name).\(figure)"]?.value, value >= least,
                    phase.acceptance != nil || phase.delivery != nil
                else { return nil }
                return "\(phase.name): \(meaning) (\(figure) \(decimals(value))): \(advice)"
            }
        }
    }

    private static func verdict(_ result: LoadResult) -> [String] {
        let verdict = result.verdict
        let unseen = "what was lost cannot be seen: nothing came to a device of the fleet"
        var lines = [
            result.isUnseen
                ? unseen
                : "lost \(verdict.lost), doubled \(verdict.doubled), strayed \(verdict.strayed), "
                    + "altered \(verdict.altered)"
                    + (verdict.repeated > 0 ? "; repeated \(verdict.repeated) (their links were cut)" : "")
        ]
        if let excused = verdict.excused, excused > 0, !result.isUnseen {
            lines.append(
                "not there and not due to be: \(number(UInt64(excused))), now or never or for the absent")
        }
        if let count = verdict.unansweredArrivals, count > 0 {
            lines.append("arrived though their answers did not: \(number(UInt64(count)))")
        }
        if let others = verdict.others { lines.append("pushes of other senders: \(number(others))") }
        if verdict.lost > 0 { lines += reasons(result.relayLosses ?? [:]) }
        lines += verdict.lostIdentities.map { "lost: apns-id \($0)" }
        if let leak = result.leakKiBPerMinute {
            lines.append("the server's memory grew by \(LoadMetrics.Unit.kibibytes.text(leak)) a minute")
        }
        return lines
    }

    /// The relay's own counts of what it gave up.
    private static func reasons(_ losses: [String: UInt64]) -> [String] {
        losses.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map { reason, count in
            switch reason {
            case "broadcasts":
                "the relay dropped \(number(count)) broadcasts: too much waited for their devices already"
            case "overflow": "the relay dropped \(number(count)): too many waited for their app already"
            case "expired", "replaced": "the relay counts \(number(count)) \(reason)"
            default: "the relay dropped \(number(count)): \(reason)"
            }
        }
    }

    private static func number(_ count: UInt64) -> String { LoadMetrics.Unit.count.text(Double(count)) }

    private static func decimals(_ value: Double) -> String { "\((value * 100).rounded() / 100)" }

    /// Aligns rows in columns: the first column to the left, the others to the right.
    static func columns(_ rows: [[String]]) -> [String] {
        let widths = (0..<(rows.first?.count ?? 0)).map { column in rows.map { $0[column].count }.max() ?? 0 }
        return rows.map { row in
            let cells = row.enumerated().map { index, cell in
                let blank = String(repeating: " ", count: widths[index] - cell.count)
                return index == 0 ? cell + blank : blank + cell
            }
            return cells.joined(separator: "  ")
        }
    }
}

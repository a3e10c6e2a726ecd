import PostriderNotifications
import PostriderStorage

/// Checks a store against the reports of its runs.
struct Findings {
    /// The reported outcome of a step.
    enum Outcome: String {
        /// The step was begun, and nothing more was reported.
        case tried
        /// The store has reported a failure.
        case failed
        /// The store has made the step durable.
        case ok
    }

    private let script: Script
    /// The outcome of each step that was begun, and the number of its run.
    private var outcomes: [Int: (outcome: Outcome, run: Int)] = [:]
    private(set) var sentences: [String] = []

    /// Reads the lines that runs have printed: `run`, and `OUTCOME STEP`.
    init(_ script: Script, told lines: [Substring]) {
        self.script = script
        var run = 0
        for line in lines {
            let words = line.split(separator: " ")
            if words.first == "run" { run += 1 }
            guard words.count >= 2, let outcome = Outcome(rawValue: String(words[0])),
                let step = Int(words[1])
            else { continue }
            outcomes[step] = (outcome, run)
        }
    }

    /// Adds a finding for every broken promise of the store.
    mutating func check(_ store: SQLiteStore) throws {
        var entries: [QueueRow: QueueEntry] = [:]
        let last = try store.scanQueue { entries[$0.row] = $0 }
        let secrets = try store.loadRegistry().tokenSecrets
        var payloads: [QueueRow: [UInt8]] = [:]
        store.read(Array(entries.keys)) { result in
            for queued in (try? result.get()) ?? [] { payloads[queued.row] = queued.notification.payload }
        }
        let settled = settlements()
        for (step, (outcome, run)) in outcomes.sorted(by: { $0.key < $1.key }) {
            switch script.step(step) {
            case .apply(let secret):
                if outcome == .ok, !secrets.contains(secret) { find("lost: the change of step \(step)") }
            case .commit(let batch):
                check(batch, step, outcome, isUndone: isUndone(step, run), entries, payloads, settled)
                let highest = batch.enqueued.map(\.row).max()
                if outcome == .ok, let highest, highest > last {
                    find("row \(highest.value) was used, and may be given out again after \(last.value)")
                }
            }
        }
        let known = outcomes.keys.reduce(into: Set<QueueRow>()) { rows, step in
            if case .commit(let batch) = script.step(step) { rows.formUnion(batch.enqueued.map(\.row)) }
        }
        for row in entries.keys where !known.contains(row) { find("invented: row \(row.value)") }
    }

    private mutating func check(
        _ batch: QueueBatch, _ step: Int, _ outcome: Outcome, isUndone: Bool,
        _ entries: [QueueRow: QueueEntry], _ payloads: [QueueRow: [UInt8]], _ settled: [QueueRow: Outcome]
    ) {
        var present = 0
        var absent = 0
        for queued in batch.enqueued {
            let isThere = entries[queued.row] != nil
            let settlement = settled[queued.row]
            if isThere {
                present += 1
                let entry = QueueEntry(row: queued.row, notification: queued.notification)
                if entries[queued.row] != entry || payloads[queued.row] != queued.notification.payload {
                    find("damaged: row \(queued.row.value) of step \(step)")
                }
            }
            if settlement == nil, !isThere { absent += 1 }
            if outcome == .ok, settlement == nil, !isThere {
                find("lost: row \(queued.row.value) of step \(step)")
            }
            if settlement == .ok, isThere { find("came back: row \(queued.row.value) of step \(step)") }
            if isUndone, isThere { find("refused, and yet there: row \(queued.row.value) of step \(step)") }
        }
        if present > 0, absent > 0 {
            find("torn: \(present) rows of step \(step) are there, \(absent) are not")
        }
    }

    /// Whether a later success of the same run must have removed what a failed step may have left.
    private func isUndone(_ step: Int, _ run: Int) -> Bool {
        guard outcomes[step]?.outcome == .failed else { return false }
        return outcomes.contains { later, told in
            guard later > step, told.run == run, told.outcome == .ok else { return false }
            if case .commit = script.step(later) { return true } else { return false }
        }
    }

    /// The rows that later steps have settled, or may have settled.
    private func settlements() -> [QueueRow: Outcome] {
        var rows: [QueueRow: Outcome] = [:]
        for (step, (outcome, _)) in outcomes {
            guard case .commit(let batch) = script.step(step) else { continue }
            for row in batch.settled where rows[row] != .ok { rows[row] = outcome }
        }
        return rows
    }

    private mutating func find(_ sentence: String) { sentences.append(sentence) }
}

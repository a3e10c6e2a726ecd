import PostriderNotifications

/// Logs of each provider key once that it ends within two weeks, once that it ends within a day, and once that it has
/// ended.
struct ProviderKeyWarnings {
    /// What was logged about a key, by its identifier, and of which end.
    private var told: [String: (stage: Stage, end: Moment)] = [:]

    private enum Stage: Comparable {
        case soon, tomorrow, over
    }

    /// Looks at the keys that have an end.
    mutating func look(at keys: [ProviderKeyRecord], now: Moment, _ log: Log) {
        let present = Set(keys.map(\.identifier))
        told = told.filter { present.contains($0.key) }
        for key in keys {
            guard let end = key.endsAt, let stage = Self.stage(end.milliseconds - now.milliseconds) else {
                continue
            }
            let before = told[key.identifier].flatMap { $0.end == end ? $0.stage : nil }
            guard before.map({ $0 < stage }) ?? true else { continue }
            told[key.identifier] = (stage, end)
            let name = "the provider key \(key.identifier) of team \(key.team)"
            switch stage {
            case .soon, .tomorrow:
                let days = (end.milliseconds - now.milliseconds) / 86_400_000
                log.warning(
                    "\(name) ends in \(days) days: its pushes are refused from then on; add another key, "
                        + "or add this one again with a later end")
            case .over:
                log.warning("\(name) has ended: its pushes are refused as Forbidden")
            }
        }
    }

    private static func stage(_ milliseconds: Int64) -> Stage? {
        switch milliseconds {
        case ...0: .over
        case ...86_400_000: .tomorrow
        case ...(14 * 86_400_000): .soon
        default: nil
        }
    }
}

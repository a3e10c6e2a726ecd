/// Prevents lines that peers cause from flooding the log. The first line of a kind is written at once. Further lines
/// of that kind are counted for ``Limits/logRepeatSeconds``; then one line has the text of the last and the number of
/// those that were left out. A kind without repeats in that time is forgotten, so its next line is written at once.
///
/// It reads no clock: callers pass the time in nanoseconds of any clock that does not go back.
public struct RepeatFilter: Sendable {
    private struct Repeats {
        let since: UInt64
        var count = 0
        /// The last line that was left out.
        var last: Log.Line?
        var sources: Set<String> = []
    }

    private static let interval = UInt64(Limits.logRepeatSeconds) * 1_000_000_000
    /// Stands for all kinds for which there is no room.
    private static let otherKinds = ""

    private var kinds: [String: Repeats] = [:]

    /// Creates a filter that has seen no line.
    public init() {}

    /// The lines to write now when a line arrives: counts that are due, and the line itself unless it is a repeat.
    public mutating func take(_ line: Log.Line, now: UInt64) -> [Log.Line] {
        guard let kind = line.kind else { return [line] }
        let due = takeDue(now: now)
        let isKnown = kinds[kind] != nil || kinds.count < Limits.logKinds
        let key = isKnown ? kind : Self.otherKinds
        guard var repeats = kinds[key] else {
            kinds[key] = Repeats(since: now)
            return due + [line]
        }
        repeats.count += line.count
        repeats.last = line
        if let source = line.source, repeats.sources.count <= Limits.logSources {
            repeats.sources.insert(source)
        }
        kinds[key] = repeats
        return due
    }

    /// The lines about repeats whose interval is over.
    public mutating func takeDue(now: UInt64) -> [Log.Line] {
        takeRepeats {
            now >= $0.since + Self.interval
        } then: {
            Repeats(since: now)
        }
    }

    /// The lines about all repeats, for the end of the log.
    public mutating func takeAll() -> [Log.Line] {
        takeRepeats { _ in
            true
        } then: {
            nil
        }
    }

    /// When ``takeDue(now:)`` next returns a line; nil if no line was left out.
    public var nextDue: UInt64? {
        kinds.values.filter { $0.count > 0 }.map { $0.since + Self.interval }.min()
    }

    private mutating func takeRepeats(
        where isOver: (Repeats) -> Bool, then next: () -> Repeats?
    ) -> [Log.Line] {
        guard kinds.values.contains(where: isOver) else { return [] }
        var lines: [Log.Line] = []
        for (kind, repeats) in kinds.filter({ isOver($0.value) }).sorted(by: { $0.key < $1.key }) {
            // A kind that still repeats is counted on, with one line for each interval.
            kinds[kind] = repeats.count > 0 ? next() : nil
            if let line = Self.sum(repeats) { lines.append(line) }
        }
        return lines
    }

    private static func sum(_ repeats: Repeats) -> Log.Line? {
        guard let last = repeats.last else { return nil }
        let number = repeats.sources.count
        let sources =
            switch number {
            case 0: ""
            case 1: ", from 1 source"
            case ...Limits.logSources: ", from \(number) sources"
            default: ", from more than \(Limits.logSources) sources"
            }
        let others = "\(repeats.count) more like this within \(Limits.logRepeatSeconds) seconds\(sources)"
        var fields = last.fields
        fields.repeats = repeats.count
        return Log.Line(last.level, "\(last.text) (\(others))", fields: fields)
    }
}

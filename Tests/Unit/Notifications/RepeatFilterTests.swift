import PostriderNotifications
import Testing

@Suite("Repeats in the log")
struct RepeatFilterTests {
    private static let second: UInt64 = 1_000_000_000
    private static let interval = UInt64(Limits.logRepeatSeconds) * second

    private func line(_ text: String, _ kind: String? = "kind", from source: String? = nil, count: Int = 1)
        -> Log.Line
    {
        Log.Line(.notice, text, kind: kind, from: source, count: count)
    }

    @Test(
        "the first line of a kind is written at once, the others in one line with their number",
        .bug(id: "R15"))
    func repeats() {
        var filter = RepeatFilter()
        #expect(filter.take(line("refused 0"), now: 5).map(\.text) == ["refused 0"])
        #expect(filter.nextDue == nil)
        for number in 1..<500 {
            let source = "192.0.2.\(number % 3)"
            #expect(filter.take(line("refused \(number)", from: source), now: 5 + Self.second) == [])
        }
        #expect(filter.nextDue == 5 + Self.interval)
        #expect(filter.takeDue(now: 4 + Self.interval) == [])
        let due = filter.takeDue(now: 5 + Self.interval)
        #expect(due.map(\.text) == ["refused 499 (499 more like this within 10 seconds, from 3 sources)"])
        #expect(due.map(\.level) == [.notice])
    }

    @Test("the line with the number has the fields of the last line, and the number as a field")
    func fields() {
        var filter = RepeatFilter()
        for number in 1...4 {
            let fields = Log.Fields(connection: "192.0.2.\(number)", reason: "unknown_ca")
            _ = filter.take(Log.Line(.info, "ended", kind: "end", fields: fields), now: 0)
        }
        let named = filter.takeAll().flatMap(\.fields.named).map { "\($0.name)=\($0.value)" }
        #expect(named == ["connection=192.0.2.4", "reason=unknown_ca", "repeats=3"])
    }

    @Test("lines that tell of several things count as many", .bug(id: "A13"))
    func counts() {
        var filter = RepeatFilter()
        _ = filter.take(line("1 dropped"), now: 0)
        for _ in 1...100 { _ = filter.take(line("5 dropped", from: "app", count: 5), now: 1) }
        let text = "5 dropped (500 more like this within 10 seconds, from 1 source)"
        #expect(filter.takeAll().map(\.text) == [text])
        #expect(filter.takeAll() == [])
    }

    @Test("a kind that goes on has one line in each interval, one that was quiet is written at once")
    func goesOn() {
        var filter = RepeatFilter()
        var written: [String] = []
        for number in 0..<30 {
            written += filter.take(line("\(number)"), now: UInt64(number) * Self.second).map(\.text)
        }
        #expect(
            written == [
                "0", "9 (9 more like this within 10 seconds)", "19 (10 more like this within 10 seconds)",
            ])
        #expect(filter.takeDue(now: 30 * Self.second).count == 1)
        // No line came in the interval that began at that time.
        #expect(filter.take(line("late"), now: 41 * Self.second).map(\.text) == ["late"])
    }

    @Test("kinds do not hide one another, and a line without a kind is always written")
    func kinds() {
        var filter = RepeatFilter()
        #expect(filter.take(line("a", "a"), now: 0).count == 1)
        #expect(filter.take(line("b", "b"), now: 0).count == 1)
        for _ in 1...3 { #expect(filter.take(line("always", nil), now: 0).count == 1) }
    }

    @Test("kinds and sources without end take no more memory than the limits say, and are still told")
    func bounds() {
        var filter = RepeatFilter()
        for number in 0..<2 * Limits.logKinds { _ = filter.take(line("x", "\(number)"), now: 0) }
        let rest = filter.takeAll()
        #expect(rest.map(\.text) == ["x (\(Limits.logKinds - 1) more like this within 10 seconds)"])
        for number in 0..<1000 { _ = filter.take(line("y", from: "\(number)"), now: 0) }
        let text = "y (999 more like this within 10 seconds, from more than \(Limits.logSources) sources)"
        #expect(filter.takeAll().map(\.text) == [text])
    }
}

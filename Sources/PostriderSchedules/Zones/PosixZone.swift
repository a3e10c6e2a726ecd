/// The offset of a zone by a rule that holds for every year: the form of the `TZ` environment variable
/// (POSIX.1-2024, 8.3) with the extensions of time zone files (RFC 9636, 3.3.1), such as
/// "CET-1CEST,M3.5.0,M10.5.0/3".
struct PosixZone: Sendable, Equatable {
    /// Seconds that the clocks are ahead of Greenwich, but for summer time.
    private let standard: Int
    private let summer: Summer?

    private struct Summer: Equatable {
        let offset: Int
        let start: YearlyMoment
        let end: YearlyMoment
    }

    /// A time of the clock on a day of every year.
    private struct YearlyMoment: Equatable {
        let day: YearlyDay
        /// Seconds after midnight; may be negative, or more than a day.
        let time: Int
    }

    fileprivate enum YearlyDay: Equatable {
        /// From 1 to 365; a 29th of February is never counted.
        case julian(Int)
        /// From 0 to 365.
        case ordinal(Int)
        /// The `week`-th day with that weekday (0: Sunday) in a month; the fifth is the last.
        case weekday(month: Int, week: Int, weekday: Int)
    }

    /// - Returns: nil: the text has another form.
    init?(_ text: String) {
        var parser = Parser(rest: text.utf8.map { $0 }[...])
        guard parser.skipName(), let west = parser.time(most: 24) else { return nil }
        standard = -west
        guard !parser.rest.isEmpty else {
            summer = nil
            return
        }
        guard parser.skipName() else { return nil }
        var offset = -west + 3600
        if parser.rest.first != UInt8(ascii: ",") {
            guard let west = parser.time(most: 24) else { return nil }
            offset = -west
        }
        guard let start = parser.yearlyMoment(), let end = parser.yearlyMoment(), parser.rest.isEmpty else {
            return nil
        }
        summer = Summer(offset: offset, start: start, end: end)
    }

    func offset(at moment: Int) -> Int {
        guard let summer else { return standard }
        let year = CivilDay(number: (moment + standard).flooredQuotient(by: 86_400)).year
        // A rule's moment may lie in the year beside its own: a summer that never ends ends a day after December.
        var newest: (moment: Int, offset: Int)?
        for year in year - 1...year + 1 {
            for (change, from, to) in [
                (summer.start, standard, summer.offset), (summer.end, summer.offset, standard),
            ] {
                let changes = change.day.number(in: year) * 86_400 + change.time - from
                guard changes <= moment else { continue }
                // Where summer begins as the last one ends, it is summer.
                guard let last = newest else {
                    newest = (changes, to)
                    continue
                }
                if changes > last.moment || changes == last.moment && to == summer.offset {
                    newest = (changes, to)
                }
            }
        }
        return newest?.offset ?? standard
    }
}

extension PosixZone.YearlyDay {
    /// Days since 1970-01-01.
    fileprivate func number(in year: Int) -> Int {
        let first = CivilDay(firstOf: year).number
        switch self {
        case .julian(let day):
            let isLeap = CivilDay(firstOf: year + 1).number - first == 366
            return first + day - 1 + (isLeap && day >= 60 ? 1 : 0)
        case .ordinal(let day): return first + day
        case .weekday(let month, let week, let weekday):
            var day = CivilDay(firstOf: year)
            while day.month < month { day = day.next }
            // `CivilDay` counts weekdays from 1.
            let ahead = (weekday + 1 - day.weekday + 7) % 7
            let found = CivilDay(number: day.number + ahead + 7 * (week - 1))
            return found.month == month ? found.number : found.number - 7
        }
    }
}

extension PosixZone {
    private struct Parser {
        var rest: ArraySlice<UInt8>

        private mutating func skip(_ character: Character) -> Bool {
            guard let byte = rest.first, byte == character.asciiValue else { return false }
            rest = rest.dropFirst()
            return true
        }

        /// Skips an abbreviation: at least three letters, or digits and signs between angle brackets.
        mutating func skipName() -> Bool {
            if skip("<") {
                guard let end = rest.firstIndex(of: UInt8(ascii: ">")) else { return false }
                rest = rest[(end + 1)...]
                return true
            }
            let name = rest.prefix {
                (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0 & ~0x20)
            }
            rest = rest[name.endIndex...]
            return name.count >= 3
        }

        private mutating func number(_ range: ClosedRange<Int>) -> Int? {
            let digits = rest.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
            guard 1...3 ~= digits.count else { return nil }
            rest = rest[digits.endIndex...]
            let value = digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
            return range.contains(value) ? value : nil
        }

        /// `[+-]hh[:mm[:ss]]`, in seconds.
        ///
        /// - Parameter most: the most hours.
        mutating func time(most: Int) -> Int? {
            let isNegative = skip("-")
            if !isNegative { _ = skip("+") }
            guard let hours = number(0...most) else { return nil }
            var seconds = hours * 3600
            if skip(":") {
                guard let minutes = number(0...59) else { return nil }
                seconds += minutes * 60
                if skip(":") {
                    guard let more = number(0...59) else { return nil }
                    seconds += more
                }
            }
            return isNegative ? -seconds : seconds
        }

        /// `,day[/time]`: two in the night where there is no time.
        mutating func yearlyMoment() -> YearlyMoment? {
            guard skip(","), let day = day() else { return nil }
            guard skip("/") else { return YearlyMoment(day: day, time: 7200) }
            return time(most: 167).map { YearlyMoment(day: day, time: $0) }
        }

        private mutating func day() -> YearlyDay? {
            if skip("J") { return number(1...365).map { .julian($0) } }
            guard skip("M") else { return number(0...365).map { .ordinal($0) } }
            guard let month = number(1...12), skip("."), let week = number(1...5), skip("."),
                let weekday = number(0...6)
            else { return nil }
            return .weekday(month: month, week: week, weekday: weekday)
        }
    }
}

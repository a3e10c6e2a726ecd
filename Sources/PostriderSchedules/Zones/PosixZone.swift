/// A rule for the offset of a zone in every year, in the form of the `TZ` environment variable (POSIX.1-2024, 8.3)
/// with the extensions of time zone files (RFC 9636, section 3.3.1), such as "CET-1CEST,M3.5.0,M10.5.0/3".
struct PosixZone: Sendable, Equatable {
    /// The offset from UTC in standard time, in seconds.
    private let standard: Int
    private let summer: Summer?

    private struct Summer: Equatable {
        let offset: Int
        let start: YearlyMoment
        let end: YearlyMoment
    }

    /// A local time on a day of every year.
    fileprivate struct YearlyMoment: Equatable {
        let day: YearlyDay
        /// Seconds after midnight. The number may be negative or exceed a day.
        let time: Int
    }

    fileprivate enum YearlyDay: Equatable {
        /// From 1 to 365, without counting a 29th of February.
        case julian(Int)
        /// From 0 to 365.
        case ordinal(Int)
        /// The `week`-th day with that weekday (0 is Sunday) in a month; 5 means the last.
        case weekday(month: Int, week: Int, weekday: Int)
    }

    /// - Returns: nil if the text has another form.
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
        // A transition of a neighbouring year may count, too: a summer time that never ends has its end a day after
        // December.
        let years = year - 1...year + 1
        let begin = years.map { summer.start.seconds(in: $0) - standard }.last { $0 <= moment }
        let end = years.map { summer.end.seconds(in: $0) - summer.offset }.last { $0 <= moment }
        guard let begin else { return standard }
        // If summer time begins at the moment at which it ends, it is always summer time.
        return begin >= end ?? .min ? summer.offset : standard
    }
}

extension PosixZone.YearlyMoment {
    /// Seconds of the local clock since 1970-01-01.
    fileprivate func seconds(in year: Int) -> Int { day.number(in: year) * 86_400 + time }
}

extension PosixZone.YearlyDay {
    /// The days since 1970-01-01.
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

        /// Skips an abbreviation: at least three letters, or digits and signs in angle brackets.
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

        /// Reads `[+-]hh[:mm[:ss]]` as seconds.
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

        /// Reads `,day[/time]`. The default time is 02:00.
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

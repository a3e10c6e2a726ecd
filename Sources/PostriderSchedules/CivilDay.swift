/// A day of the Gregorian calendar, identified by its distance from 1970-01-01.
struct CivilDay: Hashable {
    /// Days since 1970-01-01.
    let number: Int
    let year: Int
    let month: Int
    let day: Int

    /// The weekday from 1, Sunday, to 7, Saturday. 1970-01-01 was a Thursday.
    var weekday: Int { (((number + 4) % 7) + 7) % 7 + 1 }

    /// The position of this day among the days of its month with the same weekday, from 1.
    var weekdayOrdinal: Int { (day - 1) / 7 + 1 }

    /// Finds the day with this number.
    init(number: Int) {
        // The estimate is off by at most a year, because leap days are not spread evenly.
        var year = 1970 + Int((Double(number) / 365.2425).rounded(.down))
        while Self.firstDay(of: year) > number { year -= 1 }
        while Self.firstDay(of: year + 1) <= number { year += 1 }
        var rest = number - Self.firstDay(of: year)
        var month = 1
        while rest >= Self.days(in: month, of: year) {
            rest -= Self.days(in: month, of: year)
            month += 1
        }
        self.init(number: number, year: year, month: month, day: rest + 1)
    }

    /// Creates the first day of a year.
    init(firstOf year: Int) { self.init(number: Self.firstDay(of: year), year: year, month: 1, day: 1) }

    private init(number: Int, year: Int, month: Int, day: Int) {
        self.number = number
        self.year = year
        self.month = month
        self.day = day
    }

    /// The day after this one.
    var next: CivilDay {
        if day < Self.days(in: month, of: year) {
            return CivilDay(number: number + 1, year: year, month: month, day: day + 1)
        }
        return month < 12
            ? CivilDay(number: number + 1, year: year, month: month + 1, day: 1) : CivilDay(firstOf: year + 1)
    }

    /// The days from 1970-01-01 to the first day of a year, including leap days.
    private static func firstDay(of year: Int) -> Int {
        365 * (year - 1970) + leapYears(before: year) - leapYears(before: 1970)
    }

    private static func leapYears(before year: Int) -> Int {
        let last = year - 1
        return last / 4 - last / 100 + last / 400
    }

    private static func days(in month: Int, of year: Int) -> Int {
        switch month {
        case 2: leapYears(before: year + 1) - leapYears(before: year) + 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }
}

/// One day of the Gregorian calendar, by its distance from 1970-01-01.
struct CivilDay: Hashable {
    /// Days since 1970-01-01.
    let number: Int
    let year: Int
    let month: Int
    let day: Int

    /// From 1, Sunday, to 7, Saturday. The first day of 1970 was a Thursday.
    var weekday: Int { (((number + 4) % 7) + 7) % 7 + 1 }

    /// The how many-th day with its weekday this is in its month.
    var weekdayOrdinal: Int { (day - 1) / 7 + 1 }

    /// The day of this number.
    init(number: Int) {
        // A year too late or too early at most, as leap days are spread.
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

    /// The first day of a year.
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

    /// The days before a year, since 1970: one more for each leap year that has passed.
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

/// When a local notification is due.
public enum Trigger: Hashable, Sendable {
    /// So long after it was scheduled, and again and again after that where it repeats. Time that goes by counts, not
    /// what the clock says: setting the clock changes nothing.
    case interval(milliseconds: Int64, repeats: Bool)
    /// When clock and calendar say this, once or every time.
    case calendar(CalendarMoment, repeats: Bool)
    /// At this moment.
    case at(Moment)

    /// Whether there can be another moment after one.
    public var repeats: Bool {
        switch self {
        case .interval(_, let repeats), .calendar(_, let repeats): repeats
        case .at: false
        }
    }

    /// Milliseconds between two moments of a trigger that repeats, at least.
    public static let leastRepeatedMilliseconds: Int64 = 60_000
    /// Milliseconds of an interval, at most: ten years.
    public static let longestMilliseconds: Int64 = 10 * 366 * 86_400_000

    /// Whether a trigger can be like this at all: values in their ranges, and nothing that repeats too often.
    public var isWellFormed: Bool { flaw == nil }
}

/// Moments by what clock and calendar (the Gregorian one) say: `hour: 9, weekday: 2` is nine o'clock on Mondays.
///
/// What is not named is any, where something smaller is named, and its least otherwise: `minute: 30` is half past
/// every hour, `day: 5` the beginning of the fifth of each month.
///
/// The moments are those of Foundation's `Calendar.nextDate(after:matching:matchingPolicy:)` with `.nextTime`: a time
/// that the change to daylight saving skips is due when the clock has been put forward, if its hour or nothing smaller
/// than its day is named; a pattern without an hour has no moment in the hour that is skipped. Four things differ:
///
/// - A day that a month does not have is skipped, where Foundation takes the next day: `day: 31` comes seven times a
///   year, `month: 2, day: 29` in leap years. No moment is on another day than the named one.
/// - A time that comes twice when the clock is put back is due the first time, also where it is scheduled between the
///   two; where no hour is named, it is due both times.
/// - A skipped time is due also where the clock is put forward by other than an hour, or over midnight. Foundation
///   leaves the day out.
/// - What is not named between two named units is any: `day: 5, minute: 30` is half past every hour of the fifth.
///   Foundation finds the first of them.
public struct CalendarMoment: Hashable, Sendable {
    /// From 1970 to 2199.
    public var year: Int?
    /// From 1 to 12.
    public var month: Int?
    /// Of the month, from 1 to 31.
    public var day: Int?
    /// From 1, Sunday, to 7, Saturday, as in Foundation.
    public var weekday: Int?
    /// Which of the weekdays of its name in the month, from 1 to 5.
    public var weekdayOrdinal: Int?
    /// From 0 to 23.
    public var hour: Int?
    /// From 0 to 59.
    public var minute: Int?
    /// From 0 to 59.
    public var second: Int?
    /// Whose clock and calendar: an identifier of the time zone database such as `Europe/Berlin`. Nil: those of the
    /// device, wherever it is by then.
    public var zone: String?

    /// Moments by the values that are named.
    public init(
        year: Int? = nil, month: Int? = nil, day: Int? = nil, weekday: Int? = nil, weekdayOrdinal: Int? = nil,
        hour: Int? = nil, minute: Int? = nil, second: Int? = nil, zone: String? = nil
    ) {
        self.year = year
        self.month = month
        self.day = day
        self.weekday = weekday
        self.weekdayOrdinal = weekdayOrdinal
        self.hour = hour
        self.minute = minute
        self.second = second
        self.zone = zone
    }

    /// The last moment that anything is scheduled for: the end of the year 2199.
    public static let lastMilliseconds: Int64 = 7_258_118_400_000

    /// Whether something is named, and everything that is lies in its range. The day may still be one that never comes,
    /// such as the thirtieth of February.
    public var isWellFormed: Bool { flaw == nil }
}

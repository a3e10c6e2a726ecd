/// When a local notification is due.
public enum Trigger: Hashable, Sendable {
    /// After an interval from the time at which it was scheduled, and again after each further one if it repeats.
    /// Elapsed time counts, so setting the clock has no effect.
    case interval(milliseconds: Int64, repeats: Bool)
    /// When date and time match, once or every time.
    case calendar(CalendarMoment, repeats: Bool)
    /// At this moment.
    case at(Moment)

    /// Whether it can be due again.
    public var repeats: Bool {
        switch self {
        case .interval(_, let repeats), .calendar(_, let repeats): repeats
        case .at: false
        }
    }

    /// The least interval of a trigger that repeats, in milliseconds.
    public static let leastRepeatedMilliseconds: Int64 = 60_000
    /// The longest interval in milliseconds: ten years.
    public static let longestMilliseconds: Int64 = 10 * 366 * 86_400_000

    /// Whether the trigger is valid: its values are in their ranges, and it does not repeat too often.
    public var isWellFormed: Bool { flaw == nil }
}

/// A pattern for moments of the Gregorian calendar: `hour: 9, weekday: 2` is nine o'clock on Mondays.
///
/// A unit that is not given matches any value if a smaller unit is given; otherwise it has its least value: `minute:
/// 30` is half past every hour, `day: 5` is the beginning of the fifth of each month.
///
/// The moments are those of Foundation's `Calendar.nextDate(after:matching:matchingPolicy:)` with `.nextTime`: a time
/// that the change to daylight saving time skips is due at the change, if its hour is given or nothing smaller than
/// its day; a pattern without an hour has no moment in the skipped hour. There are four differences:
///
/// - A day that a month does not have is skipped, where Foundation takes the next day: `day: 31` occurs seven times a
///   year, `month: 2, day: 29` in leap years. No moment is on another day than the given one.
/// - A time that occurs twice when the clock is set back is due the first time, even if it is scheduled between the
///   two; without a given hour, it is due both times.
/// - A skipped time is due even if the clock is set forward by other than an hour, or over midnight. Foundation
///   leaves the day out.
/// - A unit that is not given between two given ones matches any value: `day: 5, minute: 30` is half past every hour
///   of the fifth. Foundation finds only the first of them.
public struct CalendarMoment: Hashable, Sendable {
    /// From 1970 to 2199.
    public var year: Int?
    /// From 1 to 12.
    public var month: Int?
    /// The day of the month, from 1 to 31.
    public var day: Int?
    /// The weekday from 1, Sunday, to 7, Saturday, as in Foundation.
    public var weekday: Int?
    /// The position among the days of the month with the same weekday, from 1 to 5.
    public var weekdayOrdinal: Int?
    /// From 0 to 23.
    public var hour: Int?
    /// From 0 to 59.
    public var minute: Int?
    /// From 0 to 59.
    public var second: Int?
    /// The time zone, as an identifier of the time zone database such as `Europe/Berlin`; nil for the device's zone
    /// at that time.
    public var zone: String?

    /// Creates a pattern from the given values.
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

    /// The latest moment for which anything is scheduled: the end of the year 2199, in milliseconds since 1970.
    public static let lastMilliseconds: Int64 = 7_258_118_400_000

    /// Whether at least one value is given, and all are in their ranges. The day may still not exist, such as the
    /// thirtieth of February.
    public var isWellFormed: Bool { flaw == nil }
}

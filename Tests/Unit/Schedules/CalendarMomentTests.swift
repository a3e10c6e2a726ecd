import Foundation
import PostriderNotifications
import Testing

@testable import PostriderSchedules

/// Returns the time of an ISO 8601 text in UTC.
func utc(_ text: String) throws -> Moment {
    Moment(milliseconds: Int64(try Date(text, strategy: .iso8601).timeIntervalSince1970 * 1000))
}

/// Returns the time as ISO 8601 in UTC; `never` for nil.
func text(_ moment: Moment?) -> String {
    guard let moment else { return "never" }
    return Date(timeIntervalSince1970: Double(moment.milliseconds) / 1000).formatted(.iso8601)
}

func zone(_ name: String) throws -> ZoneRules { try #require(ZoneDirectory().rules(named: name)) }

/// A pattern in a time zone, and the times that must follow one another from a start.
struct CalendarCase: CustomTestStringConvertible, Sendable {
    let name: String
    let moment: CalendarMoment
    var zone = "UTC"
    let after: String
    let moments: [String]

    var testDescription: String { name }
}

@Suite("What clock and calendar say comes")
struct CalendarMomentTests {
    static let fields: [CalendarCase] = [
        CalendarCase(
            name: "every day", moment: CalendarMoment(hour: 9), after: "2026-01-31T08:59:59Z",
            moments: ["2026-01-31T09:00:00Z", "2026-02-01T09:00:00Z"]),
        CalendarCase(
            name: "not at the moment itself", moment: CalendarMoment(hour: 9), after: "2026-01-31T09:00:00Z",
            moments: ["2026-02-01T09:00:00Z"]),
        CalendarCase(
            name: "every hour", moment: CalendarMoment(minute: 30), after: "2026-01-01T23:30:00Z",
            moments: ["2026-01-02T00:30:00Z", "2026-01-02T01:30:00Z"]),
        CalendarCase(
            name: "every minute", moment: CalendarMoment(second: 15), after: "2026-12-31T23:59:15Z",
            moments: ["2027-01-01T00:00:15Z", "2027-01-01T00:01:15Z"]),
        CalendarCase(
            name: "every minute of an hour", moment: CalendarMoment(hour: 23, second: 0),
            after: "2026-12-31T23:58:30Z",
            moments: ["2026-12-31T23:59:00Z", "2027-01-01T23:00:00Z"]),
        CalendarCase(
            name: "on a weekday", moment: CalendarMoment(weekday: 2, hour: 7, minute: 5),
            after: "2026-11-21T12:00:00Z", moments: ["2026-11-23T07:05:00Z", "2026-11-30T07:05:00Z"]),
        CalendarCase(
            name: "on the second Tuesday", moment: CalendarMoment(weekday: 3, weekdayOrdinal: 2, hour: 1),
            after: "2026-11-21T12:00:00Z", moments: ["2026-12-08T01:00:00Z", "2027-01-12T01:00:00Z"]),
        CalendarCase(
            name: "at the beginning of a month", moment: CalendarMoment(month: 3),
            after: "2026-03-01T00:00:00Z", moments: ["2027-03-01T00:00:00Z"]),
        CalendarCase(
            name: "once in a year that comes", moment: CalendarMoment(year: 2030),
            after: "2026-03-01T00:00:00Z", moments: ["2030-01-01T00:00:00Z", "never"]),
        CalendarCase(
            name: "never in a year that has gone", moment: CalendarMoment(year: 2020, hour: 1),
            after: "2026-03-01T00:00:00Z", moments: ["never"]),
        CalendarCase(
            name: "on each day of a month at a time", moment: CalendarMoment(month: 2, hour: 6),
            after: "2026-02-28T06:00:00Z", moments: ["2027-02-01T06:00:00Z", "2027-02-02T06:00:00Z"]),
    ]

    static let ends: [CalendarCase] = [
        CalendarCase(
            name: "31 in months that have it", moment: CalendarMoment(day: 31, hour: 8),
            after: "2026-01-31T08:00:00Z",
            moments: ["2026-03-31T08:00:00Z", "2026-05-31T08:00:00Z", "2026-07-31T08:00:00Z"]),
        CalendarCase(
            name: "29 February in leap years", moment: CalendarMoment(month: 2, day: 29),
            after: "2024-02-29T00:00:00Z", moments: ["2028-02-29T00:00:00Z", "2032-02-29T00:00:00Z"]),
        CalendarCase(
            name: "29 February across 2100, which has none", moment: CalendarMoment(month: 2, day: 29),
            after: "2096-02-29T00:00:00Z", moments: ["2104-02-29T00:00:00Z"]),
        CalendarCase(
            name: "29 February on a Sunday", moment: CalendarMoment(month: 2, day: 29, weekday: 1),
            after: "2026-01-01T00:00:00Z", moments: ["2032-02-29T00:00:00Z", "2060-02-29T00:00:00Z"]),
        CalendarCase(
            name: "29 February on a Saturday across 2100",
            moment: CalendarMoment(month: 2, day: 29, weekday: 7),
            after: "2092-03-01T00:00:00Z", moments: ["2116-02-29T00:00:00Z"]),
        CalendarCase(
            name: "30 February", moment: CalendarMoment(month: 2, day: 30), after: "2026-01-01T00:00:00Z",
            moments: ["never"]),
        CalendarCase(
            name: "the last second of a year",
            moment: CalendarMoment(month: 12, day: 31, hour: 23, minute: 59, second: 59),
            after: "2026-12-31T23:59:58Z", moments: ["2026-12-31T23:59:59Z", "2027-12-31T23:59:59Z"]),
    ]

    static let zones: [CalendarCase] = [
        CalendarCase(
            name: "nine o'clock stays nine o'clock", moment: CalendarMoment(hour: 9), zone: "Europe/Berlin",
            after: "2026-03-28T00:00:00Z",
            moments: ["2026-03-28T08:00:00Z", "2026-03-29T07:00:00Z", "2026-03-30T07:00:00Z"]),
        CalendarCase(
            name: "half past two, put forward over, is due when that happens",
            moment: CalendarMoment(hour: 2, minute: 30), zone: "Europe/Berlin", after: "2026-03-28T12:00:00Z",
            moments: ["2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"]),
        CalendarCase(
            name: "half past two, shown twice, is due the first time",
            moment: CalendarMoment(hour: 2, minute: 30), zone: "Europe/Berlin", after: "2026-10-24T12:00:00Z",
            moments: ["2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"]),
        CalendarCase(
            name: "half past every hour is due both times", moment: CalendarMoment(minute: 30),
            zone: "Europe/Berlin", after: "2026-10-25T00:00:00Z",
            moments: ["2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z", "2026-10-25T02:30:00Z"]),
        CalendarCase(
            name: "half past every hour has no half past two in spring", moment: CalendarMoment(minute: 30),
            zone: "Europe/Berlin", after: "2026-03-29T00:00:00Z",
            moments: ["2026-03-29T00:30:00Z", "2026-03-29T01:30:00Z", "2026-03-29T02:30:00Z"]),
        CalendarCase(
            name: "a day begins an hour late where midnight is left out", moment: CalendarMoment(day: 6),
            zone: "America/Santiago", after: "2026-08-10T00:00:00Z", moments: ["2026-09-06T04:00:00Z"]),
        CalendarCase(
            name: "clocks put forward by half an hour", moment: CalendarMoment(hour: 2, minute: 15),
            zone: "Australia/Lord_Howe", after: "2026-10-03T00:00:00Z",
            moments: ["2026-10-03T15:30:00Z", "2026-10-04T15:15:00Z"]),
        CalendarCase(
            name: "clocks put forward by half an hour skip a quarter past in one hour",
            moment: CalendarMoment(minute: 15), zone: "Australia/Lord_Howe", after: "2026-10-03T14:50:00Z",
            moments: ["2026-10-03T16:15:00Z", "2026-10-03T17:15:00Z"]),
        CalendarCase(
            name: "clocks put forward over midnight", moment: CalendarMoment(hour: 23, minute: 45),
            zone: "America/Nuuk", after: "2026-03-28T12:00:00Z",
            moments: ["2026-03-29T01:00:00Z", "2026-03-30T00:45:00Z"]),
        CalendarCase(
            name: "clocks put forward by two hours", moment: CalendarMoment(hour: 2),
            zone: "Antarctica/Troll", after: "2026-03-28T12:00:00Z",
            moments: ["2026-03-29T01:00:00Z", "2026-03-30T00:00:00Z"]),
        CalendarCase(
            name: "a weekday begins an hour late where midnight is left out",
            moment: CalendarMoment(weekday: 1), zone: "Asia/Beirut", after: "2026-03-27T00:00:00Z",
            moments: ["2026-03-28T22:00:00Z", "2026-04-04T21:00:00Z"]),
        CalendarCase(
            name: "a day that was skipped has no nine o'clock", moment: CalendarMoment(hour: 9),
            zone: "Pacific/Apia", after: "2011-12-29T00:00:00Z",
            moments: ["2011-12-29T19:00:00Z", "2011-12-30T19:00:00Z"]),
        CalendarCase(
            name: "an offset of three quarters of an hour", moment: CalendarMoment(hour: 0),
            zone: "Asia/Kathmandu", after: "2026-01-01T00:00:00Z", moments: ["2026-01-01T18:15:00Z"]),
        CalendarCase(
            name: "the date line", moment: CalendarMoment(weekday: 1, hour: 12), zone: "Pacific/Kiritimati",
            after: "2026-11-20T00:00:00Z", moments: ["2026-11-21T22:00:00Z"]),
    ]

    @Test("when it must", .bug(id: "A6"), arguments: fields + ends + zones)
    func moments(_ row: CalendarCase) throws {
        let zone = try zone(row.zone)
        #expect(row.moment.isWellFormed)
        var after: Moment? = try utc(row.after)
        var found: [String] = []
        for _ in row.moments {
            after = after.flatMap { row.moment.first(after: $0, in: zone) }
            found.append(text(after))
        }
        #expect(found == row.moments)
    }

    @Test("as Foundation says, on every day of years that hold leap days and changes of the clock")
    func foundation() throws {
        let zone = try zone("America/New_York")
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = try #require(TimeZone(identifier: zone.identifier))
        let daily = CalendarMoment(hour: 13, minute: 7)
        var moment = try utc("2023-12-31T00:00:00Z")
        for _ in 0..<1200 {
            moment = try #require(daily.first(after: moment, in: zone))
            let date = Date(timeIntervalSince1970: Double(moment.milliseconds) / 1000)
            let found = calendar.dateComponents([.year, .month, .day, .hour, .minute, .weekday], from: date)
            #expect((found.hour, found.minute) == (13, 7))
            let day = CivilDay(
                number: Int(moment.milliseconds + Int64(calendar.timeZone.secondsFromGMT(for: date)) * 1000)
                    / 86_400_000)
            #expect(
                [day.year, day.month, day.day, day.weekday] == [
                    found.year, found.month, found.day, found.weekday,
                ])
        }
        #expect(text(moment) == "2027-04-13T17:07:00Z")
    }

    @Test("in the zone that it names, wherever the device is, and never in one that there is not")
    func namedZones() throws {
        let device = try zone("Asia/Tokyo")
        let after = try utc("2026-06-01T00:00:00Z")
        let moments = [nil, "Europe/London", "Mars/Olympus"].map { name in
            let trigger = Trigger.calendar(CalendarMoment(hour: 9, zone: name), repeats: false)
            return text(trigger.firstMoment(scheduledAt: after, onDeviceIn: device))
        }
        #expect(moments == ["2026-06-02T00:00:00Z", "2026-06-01T08:00:00Z", "never"])
    }

    @Test(
        "only where it names something possible",
        arguments: [
            CalendarMoment(), CalendarMoment(zone: "UTC"), CalendarMoment(hour: 24),
            CalendarMoment(month: 0), CalendarMoment(day: 32), CalendarMoment(weekday: 8),
            CalendarMoment(weekdayOrdinal: 2), CalendarMoment(minute: -1), CalendarMoment(year: 1969),
        ])
    func malformed(_ moment: CalendarMoment) {
        #expect(!moment.isWellFormed)
        #expect(!Trigger.calendar(moment, repeats: true).isWellFormed)
    }
}

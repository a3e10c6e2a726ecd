import Foundation
import PostriderNotifications
import PostriderSeededRandom
import Testing

@testable import PostriderSchedules

/// A time at which the clocks of a zone change.
struct ClockChange: CustomTestStringConvertible, Sendable {
    let zone: String
    let at: String
    /// Whether Foundation finds the times that are skipped at this change. It skips the whole day if the clocks do
    /// not go forward by one hour within a day.
    var hasUsualGap = true

    var testDescription: String { "\(zone), \(at)" }
}

/// A pattern in Foundation's form.
private struct Pattern {
    var moment = CalendarMoment()

    /// A random pattern around `near` whose units are contiguous.
    ///
    /// For a pattern with a gap, such as a day and a minute without an hour, Foundation finds one time per day. Ours
    /// matches all times, because a unit that is not named may have any value.
    init(_ random: inout SplitMix64, near: DateComponents, namesHours: Bool) {
        func pick<Value>(_ values: [Value]) -> Value { values[Int(random.next() % UInt64(values.count))] }
        let largest = pick(["second", "minute"] + (namesHours ? ["hour", "day", "weekday", "month"] : []))
        let namesDay = ["day", "weekday", "month"].contains(largest)
        let depth =
            largest == "second" ? 3 : largest == "minute" ? pick([2, 3]) : pick([namesDay ? 0 : 1, 1, 2, 3])
        if largest == "month" { moment.month = near.month }
        if largest == "month" || largest == "day" { moment.day = near.day }
        if largest == "weekday" || largest == "day" && pick([false, false, true]) {
            moment.weekday = near.weekday
        }
        if largest == "weekday", pick([false, true]) { moment.weekdayOrdinal = near.weekdayOrdinal }
        if namesDay || largest == "hour", depth >= 1 { moment.hour = pick([near.hour, 0, 1, 2, 3, 23]) }
        if largest != "second", depth >= 2 { moment.minute = pick([0, 15, 30, 45, 59]) }
        if depth >= 3 { moment.second = pick([0, 15, 59]) }
    }

    var components: DateComponents {
        DateComponents(
            month: moment.month, day: moment.day, hour: moment.hour, minute: moment.minute,
            second: moment.second, weekday: moment.weekday, weekdayOrdinal: moment.weekdayOrdinal)
    }

    /// Returns Foundation's next time with our two rules: a day that a month does not have is left out, and of a time
    /// that occurs twice only the first counts if its hour is named.
    func next(after date: Date, in calendar: Calendar) -> Date? {
        var date = date
        while let found = calendar.nextDate(after: date, matching: components, matchingPolicy: .nextTime) {
            guard isOnNamedDay(found, calendar) else {
                return calendar.nextDate(after: date, matching: components, matchingPolicy: .strict)
            }
            guard moment.hour != nil, isShownAgain(found, calendar) else { return found }
            date = found
        }
        return nil
    }

    private func isOnNamedDay(_ date: Date, _ calendar: Calendar) -> Bool {
        let found = calendar.dateComponents([.month, .day, .weekday, .weekdayOrdinal], from: date)
        return [
            (moment.month, found.month), (moment.day, found.day), (moment.weekday, found.weekday),
            (moment.weekdayOrdinal, found.weekdayOrdinal),
        ].allSatisfy { named, found in named == nil || named == found }
    }

    private func isShownAgain(_ date: Date, _ calendar: Calendar) -> Bool {
        let zone = calendar.timeZone
        return [1800, 3600, 7200].contains { seconds in
            zone.secondsFromGMT(for: date - Double(seconds)) == zone.secondsFromGMT(for: date) + seconds
        }
    }
}

@Suite("Clock and calendar beside Foundation")
struct FoundationTests {
    static let changes = [
        ClockChange(zone: "Europe/Berlin", at: "2026-03-29T01:00:00Z"),
        ClockChange(zone: "Europe/Berlin", at: "2026-10-25T01:00:00Z"),
        ClockChange(zone: "America/New_York", at: "2026-03-08T07:00:00Z"),
        ClockChange(zone: "America/New_York", at: "2026-11-01T06:00:00Z"),
        ClockChange(zone: "Asia/Beirut", at: "2026-03-28T22:00:00Z"),
        ClockChange(zone: "Asia/Beirut", at: "2026-10-24T21:00:00Z"),
        ClockChange(zone: "America/Santiago", at: "2026-09-06T04:00:00Z"),
        ClockChange(zone: "America/Santiago", at: "2026-04-05T03:00:00Z"),
        ClockChange(zone: "America/Havana", at: "2026-03-08T05:00:00Z"),
        ClockChange(zone: "Africa/Cairo", at: "2026-04-23T22:00:00Z"),
        ClockChange(zone: "Australia/Lord_Howe", at: "2026-10-03T15:30:00Z", hasUsualGap: false),
        ClockChange(zone: "Australia/Lord_Howe", at: "2026-04-04T15:00:00Z"),
        ClockChange(zone: "Antarctica/Troll", at: "2026-03-29T01:00:00Z", hasUsualGap: false),
        ClockChange(zone: "America/Nuuk", at: "2026-03-29T01:00:00Z", hasUsualGap: false),
        ClockChange(zone: "Pacific/Apia", at: "2011-12-30T10:00:00Z"),
        ClockChange(zone: "Asia/Kathmandu", at: "2026-06-01T00:00:00Z"),
    ]

    @Test(
        "finds the moments of nextDate(after:matching:matchingPolicy: .nextTime) when clocks change",
        .bug(id: "A6"), arguments: changes)
    func foundation(_ change: ClockChange) throws {
        let zone = try zone(change.zone)
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = try #require(TimeZone(identifier: change.zone))
        let moment = Date(timeIntervalSince1970: Double(try utc(change.at).milliseconds) / 1000)
        var random = SplitMix64(seed: 6)
        var differences: [String] = []
        for _ in 0..<400 {
            let near = calendar.dateComponents(
                [.month, .day, .hour, .weekday, .weekdayOrdinal],
                from: moment + Double(Int(random.next() % 7) - 4) * 1800)
            let pattern = Pattern(&random, near: near, namesHours: change.hasUsualGap)
            var date = moment + Double(Int(random.next() % (60 * 3600)) - 40 * 3600)
            for _ in 0..<3 {
                let expected = pattern.next(after: date, in: calendar)
                let after = Moment(milliseconds: Int64(date.timeIntervalSince1970 * 1000))
                let found = pattern.moment.first(after: after, in: zone)
                    .map { Date(timeIntervalSince1970: Double($0.milliseconds) / 1000) }
                if found != expected {
                    differences.append(
                        "\(pattern.components) after \(date): \(found as Any), not \(expected as Any)")
                }
                guard let found else { break }
                date = found
            }
        }
        #expect(differences == [])
    }
}

import Foundation
import PostriderNotifications
import Testing

@testable import PostriderSchedules

@Suite("A trigger")
struct TriggerTests {
    private let now = Moment(milliseconds: 1_800_000_000_123)

    static let intervals: [(trigger: Trigger, isWellFormed: Bool)] = [
        (.interval(milliseconds: 1, repeats: false), true),
        (.interval(milliseconds: 0, repeats: false), false),
        (.interval(milliseconds: 59_999, repeats: true), false),
        (.interval(milliseconds: 60_000, repeats: true), true),
        (.interval(milliseconds: .max, repeats: false), false),
        (.at(Moment(milliseconds: -1)), false),
        (.at(Moment(milliseconds: .max)), false),
        (.at(Moment(milliseconds: 0)), true),
    ]

    @Test("has bounds", arguments: intervals.indices)
    func bounds(_ index: Int) {
        #expect(Self.intervals[index].trigger.isWellFormed == Self.intervals[index].isWellFormed)
    }

    @Test("counts an interval from when it was scheduled, to the millisecond")
    func interval() {
        let trigger = Trigger.interval(milliseconds: 90_000, repeats: true)
        let first = trigger.firstMoment(scheduledAt: now, onDeviceIn: .gmt)
        #expect(first == now.advanced(byMilliseconds: 90_000))
        let second = first.flatMap { trigger.moment(after: $0, series: $0, onDeviceIn: .gmt) }
        #expect(second == now.advanced(byMilliseconds: 180_000))
    }

    @Test("of a moment that has passed is never due")
    func past() {
        #expect(Trigger.at(now).firstMoment(scheduledAt: now, onDeviceIn: .gmt) == nil)
        let later = now.advanced(byMilliseconds: 1)
        #expect(Trigger.at(later).firstMoment(scheduledAt: now, onDeviceIn: .gmt) == later)
    }
}

/// A trigger, the time at which it is looked at, and the result.
struct SettlementCase: CustomTestStringConvertible, Sendable {
    let name: String
    let trigger: Trigger
    let due: String
    let now: String
    let delivered: String
    let missed: String
    let next: String

    var testDescription: String { name }
}

@Suite("What comes of a trigger that was due")
struct SettlementTests {
    static let daily = Trigger.calendar(CalendarMoment(hour: 9), repeats: true)
    static let minutely = Trigger.calendar(CalendarMoment(second: 0), repeats: true)
    static let once = Trigger.calendar(CalendarMoment(hour: 9), repeats: false)
    static let hourly = Trigger.interval(milliseconds: 3_600_000, repeats: true)

    /// Cases with a permitted lateness of one day.
    static let cases: [SettlementCase] = [
        SettlementCase(
            name: "in time, once", trigger: once, due: "2026-01-01T09:00:00Z", now: "2026-01-01T09:00:00Z",
            delivered: "2026-01-01T09:00:00Z", missed: "never", next: "never"),
        SettlementCase(
            name: "in time, daily", trigger: daily, due: "2026-01-01T09:00:00Z", now: "2026-01-01T09:00:00Z",
            delivered: "2026-01-01T09:00:00Z", missed: "never", next: "2026-01-02T09:00:00Z"),
        SettlementCase(
            name: "late within the bound, once", trigger: once, due: "2026-01-01T09:00:00Z",
            now: "2026-01-02T09:00:00Z", delivered: "2026-01-01T09:00:00Z", missed: "never", next: "never"),
        SettlementCase(
            name: "too late, once", trigger: once, due: "2026-01-01T09:00:00Z", now: "2026-01-02T09:00:01Z",
            delivered: "never", missed: "2026-01-01T09:00:00Z", next: "never"),
        SettlementCase(
            name: "daily after a week: the newest only", trigger: daily, due: "2026-01-01T09:00:00Z",
            now: "2026-01-08T10:00:00Z", delivered: "2026-01-08T09:00:00Z", missed: "never",
            next: "2026-01-09T09:00:00Z"),
        SettlementCase(
            name: "every minute after a year: the newest only", trigger: minutely,
            due: "2025-01-01T09:00:00Z", now: "2026-01-01T09:00:30Z", delivered: "2026-01-01T09:00:00Z",
            missed: "never", next: "2026-01-01T09:01:00Z"),
        SettlementCase(
            name: "monthly, and the newest is too late",
            trigger: .calendar(CalendarMoment(day: 1), repeats: true), due: "2026-01-01T00:00:00Z",
            now: "2026-03-10T00:00:00Z", delivered: "never", missed: "2026-03-01T00:00:00Z",
            next: "2026-04-01T00:00:00Z"),
        SettlementCase(
            name: "an interval keeps its beat", trigger: hourly, due: "2026-01-01T09:10:00Z",
            now: "2026-01-03T12:00:00Z", delivered: "2026-01-03T11:10:00Z", missed: "never",
            next: "2026-01-03T12:10:00Z"),
        SettlementCase(
            name: "a moment", trigger: .at(Moment(milliseconds: 1_767_258_000_000)),
            due: "2026-01-01T09:00:00Z", now: "2026-01-01T10:00:00Z", delivered: "2026-01-01T09:00:00Z",
            missed: "never", next: "never"),
        SettlementCase(
            name: "a yearly day that has no other",
            trigger: .calendar(CalendarMoment(year: 2026), repeats: true),
            due: "2026-01-01T00:00:00Z", now: "2026-01-01T01:00:00Z", delivered: "2026-01-01T00:00:00Z",
            missed: "never", next: "never"),
    ]

    @Test("follows the policy", arguments: cases)
    func policy(_ row: SettlementCase) throws {
        let settlement = Settlement(
            of: row.trigger, due: try utc(row.due), now: try utc(row.now), lateness: 86_400_000,
            onDeviceIn: .gmt)
        #expect(text(settlement.delivered) == row.delivered)
        #expect(text(settlement.missed) == row.missed)
        #expect(text(settlement.next) == row.next)
    }
}

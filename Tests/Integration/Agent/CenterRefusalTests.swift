import PostriderCourier
import PostriderNotifications
import Testing

@testable import PostriderAgent

@Suite("A local notification that can never be")
struct CenterRefusalTests {
    private let fixture: CenterFixture

    init() throws {
        fixture = try CenterFixture()
        fixture.now = .utc("2026-06-01T06:30:00Z")
    }

    static func calendar(_ moment: CalendarMoment) -> LocalRequest {
        .sample("a", .calendar(moment, repeats: true))
    }

    static let impossible: [(request: LocalRequest, reason: String)] = [
        (.sample("", nil), "identifier: it has 0 bytes, but must have 1 to 255."),
        (
            .sample(String(repeating: "a", count: 256), nil),
            "identifier: it has 256 bytes, but must have 1 to 255."
        ),
        (
            .sample("a", .interval(milliseconds: 0, repeats: false)),
            "trigger.interval.milliseconds: 0 ms is too short; the least is 1 ms."
        ),
        (
            .sample("a", .interval(milliseconds: 1000, repeats: true)),
            "trigger.interval.milliseconds: 1000 ms is too short; "
                + "an interval that repeats has at least 60000 ms."
        ),
        (
            .sample("a", .interval(milliseconds: 316_224_000_001, repeats: false)),
            "trigger.interval.milliseconds: 316224000001 ms is too long; the most is 316224000000 ms."
        ),
        (.sample("a", .at(Moment(milliseconds: 1))), "trigger.at: the moment has passed."),
        (
            .sample("a", .at(Moment(milliseconds: -1))),
            "trigger.at: -1 ms is outside of 0 to 7258118400000, the years 1970 to 2199."
        ),
        (calendar(CalendarMoment(hour: 24)), "trigger.calendar.hour: 24 is outside of 0 to 23."),
        (calendar(CalendarMoment(minute: 60)), "trigger.calendar.minute: 60 is outside of 0 to 59."),
        (calendar(CalendarMoment(second: 60)), "trigger.calendar.second: 60 is outside of 0 to 59."),
        (calendar(CalendarMoment(month: 13)), "trigger.calendar.month: 13 is outside of 1 to 12."),
        (calendar(CalendarMoment(day: 32)), "trigger.calendar.day: 32 is outside of 1 to 31."),
        (calendar(CalendarMoment(weekday: 8)), "trigger.calendar.weekday: 8 is outside of 1 to 7."),
        (calendar(CalendarMoment(year: 1969)), "trigger.calendar.year: 1969 is outside of 1970 to 2199."),
        (
            calendar(CalendarMoment(weekday: 2, weekdayOrdinal: 6)),
            "trigger.calendar.weekday_ordinal: 6 is outside of 1 to 5."
        ),
        (
            calendar(CalendarMoment(weekdayOrdinal: 2)),
            "trigger.calendar.weekday_ordinal: it needs a weekday beside it."
        ),
        (
            calendar(CalendarMoment()),
            "trigger.calendar: name at least one of year, month, day, weekday, hour, minute, second."
        ),
        (calendar(CalendarMoment(month: 2, day: 30)), "trigger.calendar.day: no such day ever comes."),
        (
            calendar(CalendarMoment(year: 2026, month: 5, hour: 1)),
            "trigger.calendar.year: no such moment is left in 2026."
        ),
        (
            calendar(CalendarMoment(hour: 1, zone: "Nowhere")),
            "trigger.calendar.time_zone: this device knows no time zone \"Nowhere\"."
        ),
    ]

    @Test("is refused with the field that is wrong, and why", .bug(id: "A20"), arguments: impossible.indices)
    func refusals(_ index: Int) {
        let (request, reason) = Self.impossible[index]
        #expect(fixture.ask(.add(request)) == [.refused(reason, isForbidden: false)])
        #expect(fixture.list(.pending).isEmpty && fixture.fired.isEmpty)
    }

    @Test("is told how many bytes it has, and may have", .bug(id: "A20"))
    func tooLarge() {
        let request = LocalRequest.sample("a", nil, title: String(repeating: "a", count: 8192))
        #expect(
            fixture.ask(.add(request)) == [
                .refused(
                    "The notification has 8201 bytes; it may have 8192 with its content.", isForbidden: false)
            ])
    }

    @Test("is an INVALID_ARGUMENT that names what is missing, if its trigger names nothing", .bug(id: "A20"))
    func emptyTrigger() {
        let bytes: [UInt8] = []
        let error = #expect(throws: CourierError.self) { _ = try Trigger(decoding: bytes.span) }
        #expect(error?.status == .invalidArgument)
        #expect(error?.description == "trigger: it must have one of interval, calendar and at.")
    }
}

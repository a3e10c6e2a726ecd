import Foundation
import PostriderCourier
import Testing

@testable import PostriderKit

@Suite("A trigger of the kit that can never be")
struct TriggerRefusalTests {
    struct Stranger: NotificationTrigger {
        var repeats: Bool { false }
        func nextTriggerDate() -> Date? { nil }
    }

    static let impossible: [(trigger: any NotificationTrigger, reason: String)] = [
        (
            TimeIntervalNotificationTrigger(timeInterval: .nan, repeats: false),
            "timeInterval: nan is not a number of seconds."
        ),
        (
            TimeIntervalNotificationTrigger(timeInterval: 30, repeats: true),
            "timeInterval: 30000 ms is too short; an interval that repeats has at least 60000 ms."
        ),
        (
            TimeIntervalNotificationTrigger(timeInterval: -1, repeats: false),
            "timeInterval: -1000 ms is too short; the least is 1 ms."
        ),
        (
            CalendarNotificationTrigger(dateMatching: DateComponents(hour: 25), repeats: false),
            "dateComponents.hour: 25 is outside of 0 to 23."
        ),
        (
            CalendarNotificationTrigger(dateMatching: DateComponents(weekdayOrdinal: 2), repeats: true),
            "dateComponents.weekdayOrdinal: it needs a weekday beside it."
        ),
        (
            CalendarNotificationTrigger(dateMatching: DateComponents(), repeats: true),
            "dateComponents: name at least one of year, month, day, weekday, hour, minute, second."
        ),
        (
            CalendarNotificationTrigger(dateMatching: DateComponents(hour: 1, weekOfYear: 3), repeats: true),
            "dateComponents.weekOfYear: a trigger cannot have it; it counts years, months, days, weekdays, "
                + "hours, minutes and seconds."
        ),
        (
            CalendarNotificationTrigger(
                dateMatching: DateComponents(calendar: Calendar(identifier: .hebrew), hour: 1),
                repeats: true),
            "dateComponents.calendar: hebrew is not the Gregorian calendar, by which triggers go."
        ),
        (
            DateNotificationTrigger(date: Date(timeIntervalSince1970: .infinity)), "date: inf is not a date."
        ),
        (
            Stranger(),
            "trigger: Stranger is not one of the kit's three, after an interval, by the calendar "
                + "or at a date."
        ),
    ]

    @Test("is refused with the field that is wrong, and why", .bug(id: "A20"), arguments: impossible.indices)
    func refusals(_ index: Int) {
        let (trigger, reason) = Self.impossible[index]
        let request = NotificationRequest(
            identifier: "a", content: NotificationContent(), trigger: trigger)
        #expect(throws: UserNotificationError.refused(reason)) { try LocalRequest(request) }
    }
}

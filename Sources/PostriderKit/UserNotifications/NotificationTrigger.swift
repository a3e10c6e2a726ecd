public import FoundationEssentials
import PostriderNotifications
import PostriderSchedules

/// When a local notification is due: one of the three types below.
public protocol NotificationTrigger: Sendable {
    /// Whether the notification is due again after it was due.
    var repeats: Bool { get }

    /// When it would first be due if it were scheduled now; nil for never.
    func nextTriggerDate() -> Date?
}

/// Due after an interval from the time at which it is scheduled. Setting the clock of the device does not change
/// that.
public struct TimeIntervalNotificationTrigger: NotificationTrigger, Hashable {
    /// The interval in seconds: more than 0, and at least 60 if it repeats.
    public let timeInterval: TimeInterval
    /// Whether it is due again after each interval.
    public let repeats: Bool

    /// Creates a trigger with an interval in seconds.
    public init(timeInterval: TimeInterval, repeats: Bool) {
        self.timeInterval = timeInterval
        self.repeats = repeats
    }

    /// When it would first be due if it were scheduled now; nil if the interval is invalid.
    public func nextTriggerDate() -> Date? { try? next(self) }
}

/// Due when date and time match: `hour: 9, weekday: 2` is nine o'clock on Mondays. Year, month, day, weekday, weekday
/// ordinal, hour, minute and second of the Gregorian calendar are compared, in the given time zone or else in the
/// device's. docs/reference/local-notifications.md says when a day or a time that does not exist is due.
public struct CalendarNotificationTrigger: NotificationTrigger, Hashable {
    /// The values that date and time must match.
    public let dateComponents: DateComponents
    /// Whether it is due each time that they match.
    public let repeats: Bool

    /// Creates a trigger for a date and time.
    public init(dateMatching dateComponents: DateComponents, repeats: Bool) {
        self.dateComponents = dateComponents
        self.repeats = repeats
    }

    /// When it would first be due if it were scheduled now; nil for never.
    public func nextTriggerDate() -> Date? { try? next(self) }
}

/// Due at a date.
public struct DateNotificationTrigger: NotificationTrigger, Hashable {
    /// The date.
    public let date: Date
    /// It is false: the date comes once.
    public var repeats: Bool { false }

    /// Creates a trigger for a date.
    public init(date: Date) { self.date = date }

    /// The date; nil if it has passed.
    public func nextTriggerDate() -> Date? { try? next(self) }
}

private func next(_ trigger: any NotificationTrigger) throws -> Date? {
    let now = Moment(milliseconds: Int64(Date().timeIntervalSince1970 * 1000))
    let word = try Trigger(trigger)
    guard word.isWellFormed else { return nil }
    return word.firstMoment(scheduledAt: now, onDeviceIn: ZoneDirectory().current).map { Date($0) }
}

extension Date {
    init(_ moment: Moment) { self.init(timeIntervalSince1970: Double(moment.milliseconds) / 1000) }
}

extension Trigger {
    /// The trigger as the type of `PostriderSchedules`.
    init(_ trigger: any NotificationTrigger) throws(UserNotificationError) {
        switch trigger {
        case let trigger as TimeIntervalNotificationTrigger:
            let milliseconds = (trigger.timeInterval * 1000).rounded()
            guard let milliseconds = Int64(exactly: milliseconds) else {
                throw .refused("timeInterval: \(trigger.timeInterval) is not a number of seconds.")
            }
            self = .interval(milliseconds: milliseconds, repeats: trigger.repeats)
        case let trigger as CalendarNotificationTrigger:
            self = .calendar(try CalendarMoment(trigger.dateComponents), repeats: trigger.repeats)
        case let trigger as DateNotificationTrigger:
            guard let milliseconds = Int64(exactly: (trigger.date.timeIntervalSince1970 * 1000).rounded())
            else { throw .refused("date: \(trigger.date.timeIntervalSince1970) is not a date.") }
            self = .at(Moment(milliseconds: milliseconds))
        default:
            throw .refused(
                "trigger: \(type(of: trigger)) is not one of the kit's three, after an interval, by the "
                    + "calendar or at a date.")
        }
    }

    /// The trigger as the kit's type.
    var trigger: any NotificationTrigger {
        switch self {
        case .interval(let milliseconds, let repeats):
            TimeIntervalNotificationTrigger(timeInterval: Double(milliseconds) / 1000, repeats: repeats)
        case .calendar(let moment, let repeats):
            CalendarNotificationTrigger(dateMatching: moment.dateComponents, repeats: repeats)
        case .at(let moment): DateNotificationTrigger(date: Date(moment))
        }
    }
}

extension CalendarMoment {
    fileprivate init(_ components: DateComponents) throws(UserNotificationError) {
        let others = [
            ("era", components.era), ("quarter", components.quarter), ("weekOfMonth", components.weekOfMonth),
            ("weekOfYear", components.weekOfYear), ("yearForWeekOfYear", components.yearForWeekOfYear),
            ("nanosecond", components.nanosecond),
        ]
        if let (name, _) = others.first(where: { $0.1 != nil }) {
            throw .refused(
                "dateComponents.\(name): a trigger cannot have it; it counts years, months, days, weekdays, "
                    + "hours, minutes and seconds.")
        }
        if let calendar = components.calendar, calendar.identifier != .gregorian {
            throw .refused(
                "dateComponents.calendar: \(calendar.identifier) is not the Gregorian calendar, by which "
                    + "triggers go.")
        }
        self.init(
            year: components.year, month: components.month, day: components.day,
            weekday: components.weekday, weekdayOrdinal: components.weekdayOrdinal,
            hour: components.hour, minute: components.minute, second: components.second,
            zone: components.timeZone?.identifier)
    }

    fileprivate var dateComponents: DateComponents {
        DateComponents(
            timeZone: zone.flatMap { TimeZone(identifier: $0) }, year: year, month: month, day: day,
            hour: hour,
            minute: minute, second: second, weekday: weekday, weekdayOrdinal: weekdayOrdinal)
    }
}

extension TriggerFlaw {
    /// A sentence that names the field as the kit does.
    var kitDescription: String {
        let name =
            switch field {
            case .interval: "timeInterval"
            case .at: "date"
            case .calendar: "dateComponents"
            case .year: "dateComponents.year"
            case .month: "dateComponents.month"
            case .day: "dateComponents.day"
            case .weekday: "dateComponents.weekday"
            case .weekdayOrdinal: "dateComponents.weekdayOrdinal"
            case .hour: "dateComponents.hour"
            case .minute: "dateComponents.minute"
            case .second: "dateComponents.second"
            case .timeZone: "dateComponents.timeZone"
            }
        return "\(name): \(reason)."
    }
}

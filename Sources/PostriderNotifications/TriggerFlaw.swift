/// Why a trigger cannot be scheduled: the wrong field, and what is wrong with it.
public struct TriggerFlaw: Error, Hashable, Sendable, CustomStringConvertible {
    /// A field of a trigger, with its name in `agent.proto`.
    public enum Field: String, Hashable, Sendable {
        case interval = "trigger.interval.milliseconds"
        case at = "trigger.at"
        case calendar = "trigger.calendar"
        case year = "trigger.calendar.year"
        case month = "trigger.calendar.month"
        case day = "trigger.calendar.day"
        case weekday = "trigger.calendar.weekday"
        case weekdayOrdinal = "trigger.calendar.weekday_ordinal"
        case hour = "trigger.calendar.hour"
        case minute = "trigger.calendar.minute"
        case second = "trigger.calendar.second"
        case timeZone = "trigger.calendar.time_zone"
    }

    /// The field that is wrong.
    public let field: Field
    /// What is wrong, as a clause without a full stop.
    public let reason: String

    /// Creates the flaw of a field.
    public init(_ field: Field, _ reason: String) {
        self.field = field
        self.reason = reason
    }

    /// A sentence that describes the flaw.
    public var description: String { "\(field.rawValue): \(reason)." }
}

extension Trigger {
    /// The first invalid field; nil if all are in their ranges.
    public var flaw: TriggerFlaw? {
        switch self {
        case .interval(let milliseconds, let repeats):
            let least = repeats ? Self.leastRepeatedMilliseconds : 1
            if milliseconds < least {
                return TriggerFlaw(
                    .interval,
                    "\(milliseconds) ms is too short; "
                        + (repeats
                            ? "an interval that repeats has at least \(least) ms" : "the least is 1 ms"))
            }
            guard milliseconds > Self.longestMilliseconds else { return nil }
            return TriggerFlaw(
                .interval, "\(milliseconds) ms is too long; the most is \(Self.longestMilliseconds) ms")
        case .calendar(let moment, _): return moment.flaw
        case .at(let moment):
            guard !((0...CalendarMoment.lastMilliseconds) ~= moment.milliseconds) else { return nil }
            return TriggerFlaw(
                .at,
                "\(moment.milliseconds) ms is outside of 0 to \(CalendarMoment.lastMilliseconds), the years "
                    + "1970 to 2199")
        }
    }
}

extension CalendarMoment {
    /// The first field that is out of its range or missing; nil if there is none.
    var flaw: TriggerFlaw? {
        let fields: [(field: TriggerFlaw.Field, value: Int?, range: ClosedRange<Int>)] = [
            (.year, year, 1970...2199), (.month, month, 1...12), (.day, day, 1...31),
            (.weekday, weekday, 1...7), (.weekdayOrdinal, weekdayOrdinal, 1...5),
            (.hour, hour, 0...23), (.minute, minute, 0...59), (.second, second, 0...59),
        ]
        for (field, value, range) in fields {
            guard let value, !range.contains(value) else { continue }
            return TriggerFlaw(
                field, "\(value) is outside of \(range.lowerBound) to \(range.upperBound)")
        }
        guard fields.contains(where: { $0.value != nil }) else {
            return TriggerFlaw(
                .calendar, "name at least one of year, month, day, weekday, hour, minute, second")
        }
        guard weekdayOrdinal == nil || weekday != nil else {
            return TriggerFlaw(.weekdayOrdinal, "it needs a weekday beside it")
        }
        return nil
    }
}

public import PostriderNotifications

extension Trigger {
    /// When the trigger is first due.
    ///
    /// - Parameters:
    ///   - scheduledAt: when it was scheduled.
    ///   - zone: the device's zone.
    /// - Returns: nil for never: the moment has passed, the day does not exist or the zone is unknown.
    public func firstMoment(scheduledAt: Moment, onDeviceIn zone: ZoneRules) -> Moment? {
        switch self {
        case .interval(let milliseconds, _): scheduledAt.advanced(byMilliseconds: milliseconds)
        case .calendar: moment(after: scheduledAt, series: scheduledAt, onDeviceIn: zone)
        case .at(let moment): moment > scheduledAt ? moment : nil
        }
    }

    /// Why ``firstMoment(scheduledAt:onDeviceIn:)`` returns nil.
    public func absence(scheduledAt: Moment, onDeviceIn zone: ZoneRules) -> TriggerFlaw {
        guard case .calendar(let calendar, _) = self else {
            return TriggerFlaw(.at, "the moment has passed")
        }
        guard let zone = calendar.timeZone(onDeviceIn: zone) else {
            return TriggerFlaw(.timeZone, "this device knows no time zone \"\(calendar.zone ?? "")\"")
        }
        var everyYear = calendar
        everyYear.year = nil
        if let year = calendar.year, everyYear.first(after: scheduledAt, in: zone) != nil {
            return TriggerFlaw(.year, "no such moment is left in \(year)")
        }
        return TriggerFlaw(calendar.day == nil ? .calendar : .day, "no such day ever comes")
    }

    /// The first due moment after `moment`.
    ///
    /// - Parameter series: a moment at which the trigger was due or was scheduled. Intervals are counted from it.
    func moment(after moment: Moment, series: Moment, onDeviceIn device: ZoneRules) -> Moment? {
        switch self {
        case .interval(let milliseconds, _):
            guard moment >= series else { return series }
            let count = (moment.milliseconds - series.milliseconds) / milliseconds + 1
            return series.advanced(byMilliseconds: count * milliseconds)
        case .calendar(let calendar, _):
            guard let zone = calendar.timeZone(onDeviceIn: device) else { return nil }
            return calendar.first(after: moment, in: zone).flatMap {
                $0.milliseconds <= CalendarMoment.lastMilliseconds ? $0 : nil
            }
        case .at(let only): return only > moment ? only : nil
        }
    }
}

/// Decides about a local notification that became due, perhaps long ago.
///
/// At most one moment is delivered: the newest past one, if it is not too late. Earlier ones were missed and are not
/// delivered, and neither is the newest if it is too late.
public struct Settlement: Hashable, Sendable {
    /// The moment that is delivered now; nil for none.
    public let delivered: Moment?
    /// The newest past moment if it is too late to deliver it; nil otherwise.
    public let missed: Moment?
    /// When the trigger is next due; nil for never.
    public let next: Moment?

    /// Decides about a trigger that was `due` at or before `now`.
    ///
    /// - Parameters:
    ///   - lateness: how long after a moment it may still be delivered, in milliseconds.
    ///   - zone: the device's zone.
    public init(
        of trigger: Trigger, due: Moment, now: Moment, lateness: Int64, onDeviceIn zone: ZoneRules
    ) {
        precondition(due <= now, "what is not due is not settled")
        let newest = trigger.repeats ? Self.newest(of: trigger, due: due, now: now, onDeviceIn: zone) : due
        let isDelivered = now.milliseconds - newest.milliseconds <= lateness
        delivered = isDelivered ? newest : nil
        missed = isDelivered ? nil : newest
        next = trigger.repeats ? trigger.moment(after: now, series: due, onDeviceIn: zone) : nil
    }

    /// The newest moment that is not after `now`. It searches back in doubling steps and then by bisection, because
    /// from an old moment forward there may be a million.
    private static func newest(
        of trigger: Trigger, due: Moment, now: Moment, onDeviceIn zone: ZoneRules
    ) -> Moment {
        func next(after moment: Moment) -> Moment? {
            trigger.moment(after: moment, series: due, onDeviceIn: zone).flatMap { $0 <= now ? $0 : nil }
        }
        var step = Trigger.leastRepeatedMilliseconds
        var (low, high) = (max(due, now.advanced(byMilliseconds: -step)), now)
        while low > due, next(after: low) == nil {
            step *= 2
            (low, high) = (max(due, now.advanced(byMilliseconds: -step)), low)
        }
        while high.milliseconds - low.milliseconds > Trigger.leastRepeatedMilliseconds {
            let middle = low.advanced(byMilliseconds: (high.milliseconds - low.milliseconds) / 2)
            if next(after: middle) == nil { high = middle } else { low = middle }
        }
        var newest = due
        while let later = next(after: low) { (newest, low) = (later, later) }
        return newest
    }
}

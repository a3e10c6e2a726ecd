public import PostriderNotifications

extension CalendarMoment {
    /// The zone that it is about.
    ///
    /// - Parameter device: the device's zone, for a moment that names none.
    /// - Returns: nil: there is no zone of the name that it has.
    public func timeZone(onDeviceIn device: ZoneRules) -> ZoneRules? {
        guard let zone else { return device }
        return ZoneDirectory().rules(named: zone)
    }

    /// The first moment after another at which clock and calendar say this; nil: there is none.
    func first(after moment: Moment, in zone: ZoneRules) -> Moment? {
        let after = Int(moment.milliseconds.flooredQuotient(by: 1000))
        let local = after + zone.offset(at: after)
        // Clocks that were put back may still have a time of the day before.
        let floor = local - Self.longestShift
        var day = CivilDay(number: floor.flooredQuotient(by: Self.daySeconds))
        if let year, year > day.year { day = CivilDay(firstOf: year) }
        let last = day.number + Self.searchedDays
        while day.number < last, year.map({ $0 >= day.year }) ?? true {
            if includes(day), let found = earliest(on: day, after: after, from: floor, zone) {
                return Moment(seconds: Int64(found))
            }
            day = day.next
        }
        return nil
    }

    /// The longest time by which a clock is put forward or back for the time of year.
    private static let longestShift = 3 * 3600
    private static let daySeconds = 86_400
    /// Days after which a day that has not come never does. The rarest, a 29th of February on one weekday, comes after
    /// 40 years at most.
    private static let searchedDays = 41 * 366

    /// Whether its moments may lie on a day.
    private func includes(_ date: CivilDay) -> Bool {
        let namesTime = hour != nil || minute != nil || second != nil
        let isAnyDay = namesTime || day != nil || weekday != nil
        return (year == nil || year == date.year)
            && (month ?? (isAnyDay ? date.month : 1)) == date.month
            && (day ?? (isAnyDay ? date.day : 1)) == date.day
            && (weekday == nil || weekday == date.weekday)
            && (weekdayOrdinal == nil || weekdayOrdinal == date.weekdayOrdinal)
    }

    /// The earliest of its moments on a day after `after`, looking at times of the clock from `floor` on.
    ///
    /// As Foundation's `Calendar.nextDate(after:matching:matchingPolicy: .nextTime)`: a named time that the clocks skip
    /// comes when they have been put forward. A pattern without an hour has no time to make up for: the next hour has
    /// its own.
    private func earliest(on day: CivilDay, after: Int, from floor: Int, _ zone: ZoneRules) -> Int? {
        let midnight = day.number * Self.daySeconds
        let namesSmaller = (minute: minute != nil || second != nil, second: second != nil)
        let hours = hour.map { $0...$0 } ?? (namesSmaller.minute ? 0...23 : 0...0)
        let minutes = minute.map { $0...$0 } ?? (namesSmaller.second ? 0...59 : 0...0)
        var best: (moment: Int, local: Int)?
        for hour in hours where midnight + hour * 3600 + 3599 >= floor {
            for minute in minutes {
                let local = midnight + hour * 3600 + minute * 60 + (second ?? 0)
                // Later times of the clock come later, but for those of a clock that was put back.
                if let best, local > best.local + Self.longestShift { return best.moment }
                let moment =
                    switch zone.moments(showing: local) {
                    case .shown(let moments):
                        (self.hour == nil && namesSmaller.minute ? moments[...] : moments.prefix(1))
                            .first { $0 > after }
                    case .skipped(let until, let isWholeDay):
                        (self.hour != nil || !namesSmaller.minute) && !isWholeDay && until > after
                            ? until : nil
                    }
                guard let moment else { continue }
                if moment < best?.moment ?? .max { best = (moment, local) }
            }
        }
        return best?.moment
    }
}

extension ZoneRules {
    /// When the clocks show a local time.
    enum Showing: Equatable {
        /// At these moments, in order: one, or two where the clocks are put back.
        case shown([Int])
        /// Never: they are put forward over it at the moment `until`, perhaps over its whole day (Pacific/Apia had no
        /// 2011-12-30).
        case skipped(until: Int, isWholeDay: Bool)
    }

    /// When the clocks show a local time.
    func moments(showing local: Int) -> Showing {
        let (before, behind) = (offset(at: local - 86_400), offset(at: local + 86_400))
        guard before != behind else { return .shown([local - before]) }
        let shown = [local - before, local - behind].filter { $0 + offset(at: $0) == local }.sorted()
        guard shown.isEmpty else { return .shown(shown) }
        // Put forward in between: halving finds the first moment with the new offset.
        var (old, new) = (local - behind, local - before)
        while new - old > 1 {
            let middle = old + (new - old) / 2
            if offset(at: middle) == before { old = middle } else { new = middle }
        }
        let midnight = local.flooredQuotient(by: 86_400) * 86_400
        let isWholeDay = new + before <= midnight && midnight + 86_400 <= new + behind
        return .skipped(until: new, isWholeDay: isWholeDay)
    }
}

extension BinaryInteger {
    /// The quotient rounded down, where `/` rounds towards zero.
    func flooredQuotient(by divisor: Self) -> Self {
        self / divisor - (self % divisor < 0 ? 1 : 0)
    }
}

public import PostriderNotifications

extension CalendarMoment {
    /// The time zone of the moment.
    ///
    /// - Parameter device: the device's zone, for a moment that names none.
    /// - Returns: nil if the named zone does not exist.
    public func timeZone(onDeviceIn device: ZoneRules) -> ZoneRules? {
        guard let zone else { return device }
        return ZoneDirectory().rules(named: zone)
    }

    /// The first matching moment after `moment`; nil if there is none.
    func first(after moment: Moment, in zone: ZoneRules) -> Moment? {
        let after = Int(moment.milliseconds.flooredQuotient(by: 1000))
        let local = after + zone.offset(at: after)
        // After clocks were set back, local times of the day before may occur again.
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

    /// The longest shift of a clock at the begin or end of summer time, in seconds.
    private static let longestShift = 3 * 3600
    private static let daySeconds = 86_400
    /// The search ends after this many days. The rarest day, a 29th of February on one weekday, comes after at most
    /// 40 years.
    private static let searchedDays = 41 * 366

    /// Whether the date matches.
    private func includes(_ date: CivilDay) -> Bool {
        let namesTime = hour != nil || minute != nil || second != nil
        let isAnyDay = namesTime || day != nil || weekday != nil
        return (year == nil || year == date.year)
            && (month ?? (isAnyDay ? date.month : 1)) == date.month
            && (day ?? (isAnyDay ? date.day : 1)) == date.day
            && (weekday == nil || weekday == date.weekday)
            && (weekdayOrdinal == nil || weekdayOrdinal == date.weekdayOrdinal)
    }

    /// The earliest matching moment on a day that is later than `after`, among local times from `floor` on.
    ///
    /// This follows Foundation's `Calendar.nextDate(after:matching:matchingPolicy: .nextTime)`: a time that the
    /// clocks skip is replaced by the moment at which they were set forward. A pattern without an hour needs no
    /// replacement, because the next hour has a match of its own.
    private func earliest(on day: CivilDay, after: Int, from floor: Int, _ zone: ZoneRules) -> Int? {
        let midnight = day.number * Self.daySeconds
        let namesSmaller = (minute: minute != nil || second != nil, second: second != nil)
        let hours = hour.map { $0...$0 } ?? (namesSmaller.minute ? 0...23 : 0...0)
        let minutes = minute.map { $0...$0 } ?? (namesSmaller.second ? 0...59 : 0...0)
        var best: (moment: Int, local: Int)?
        for hour in hours where midnight + hour * 3600 + 3599 >= floor {
            for minute in minutes {
                let local = midnight + hour * 3600 + minute * 60 + (second ?? 0)
                // Later local times come later, except after clocks were set back.
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
    /// When clocks show a local time.
    enum Showing: Equatable {
        /// At these moments, in order: one, or two if the clocks are set back.
        case shown([Int])
        /// Never: the clocks are set forward over it at the moment `until`. They may skip the whole day (Pacific/Apia
        /// had no 2011-12-30).
        case skipped(until: Int, isWholeDay: Bool)
    }

    /// When clocks in this zone show a local time.
    func moments(showing local: Int) -> Showing {
        let (before, behind) = (offset(at: local - 86_400), offset(at: local + 86_400))
        guard before != behind else { return .shown([local - before]) }
        let shown = [local - before, local - behind].filter { $0 + offset(at: $0) == local }.sorted()
        guard shown.isEmpty else { return .shown(shown) }
        // The clocks are set forward in between. A binary search finds the first moment with the new offset.
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
    /// The quotient rounded down; `/` rounds towards zero.
    func flooredQuotient(by divisor: Self) -> Self {
        self / divisor - (self % divisor < 0 ? 1 : 0)
    }
}

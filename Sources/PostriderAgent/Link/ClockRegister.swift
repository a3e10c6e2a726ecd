import PostriderNotifications
import PostriderStorage

/// What a device's clocks show: by two readings one sees whether the wall clock was set in between.
struct ClockReading: Equatable {
    /// Which start of the machine it is (`/proc/sys/kernel/random/boot_id`).
    let bootIdentifier: String
    /// Milliseconds by which the wall clock (CLOCK_REALTIME) is ahead of the time since the start of the machine
    /// (CLOCK_BOOTTIME). Only setting the clock changes it.
    let offsetMilliseconds: Int64
}

/// By which clock the moments of the timetable were written: one row on the disk.
final class ClockRegister {
    /// A clock, as it was when the timetable was told of it last.
    struct Record: Equatable {
        /// nil while it is not known whether the clock was set over a start of the machine.
        var reading: ClockReading?
        /// Milliseconds by which the relay's clock was ahead of the device's; nil if that is not known.
        var relayAheadMilliseconds: Int64?

        /// Whether this says what another record says, but for the second or so by which clocks and networks waver.
        func isClose(to other: Record?) -> Bool {
            guard let other, reading?.bootIdentifier == other.reading?.bootIdentifier,
                (relayAheadMilliseconds == nil) == (other.relayAheadMilliseconds == nil)
            else { return false }
            let offset = (reading?.offsetMilliseconds ?? 0) - (other.reading?.offsetMilliseconds ?? 0)
            let ahead = (relayAheadMilliseconds ?? 0) - (other.relayAheadMilliseconds ?? 0)
            return abs(offset) < 1000 && abs(ahead) < 60_000
        }
    }

    /// What was read or put last; nil if there is none.
    private(set) var kept: Record?

    static let schemaStep = """
        CREATE TABLE clock(
            one INTEGER PRIMARY KEY CHECK (one = 1), boot TEXT NOT NULL, offset_ms INTEGER NOT NULL,
            relay_ahead_ms INTEGER
        ) STRICT;
        """

    private let select: Statement
    private let insert: Statement

    init(_ database: Database) throws(StoreError) {
        select = try database.prepare("SELECT boot, offset_ms, relay_ahead_ms FROM clock")
        insert = try database.prepare("INSERT OR REPLACE INTO clock VALUES (1, ?, ?, ?)")
    }

    /// The last record; nil if there is none, as in a state of an older version.
    func record() throws(StoreError) -> Record? {
        defer { select.reset() }
        guard try select.step() else { return nil }
        let boot = String(decoding: select.bytes(0), as: UTF8.self)
        let reading =
            boot.isEmpty ? nil : ClockReading(bootIdentifier: boot, offsetMilliseconds: select.integer(1))
        kept = Record(
            reading: reading, relayAheadMilliseconds: select.isNull(2) ? nil : select.integer(2))
        return kept
    }

    /// Replaces the record.
    func put(_ record: Record) throws(StoreError) {
        insert.bind(record.reading?.bootIdentifier ?? "")
        insert.bind(record.reading?.offsetMilliseconds ?? 0)
        insert.bind(record.relayAheadMilliseconds)
        try insert.run()
        kept = record
    }
}

/// Finds out how far the wall clock was set while no agent ran.
///
/// Within one run of the machine the time since its start tells that. Over a restart of the machine nothing on it does:
/// then the relay's clock is the judge, at the next link. Pure.
struct ClockJudge {
    /// What is known of the clock now.
    private(set) var record: ClockRegister.Record
    /// How far the clock was ahead of the relay's before the machine's start, while the relay has yet to be asked.
    private var isUncertain: Bool

    /// Clocks that differ by less than this are the same.
    private static let toleranceMilliseconds: Int64 = 5 * 60 * 1000

    /// A start of the agent. Answers by how much the clock was set since the last record, as far as the device knows.
    static func start(after last: ClockRegister.Record?, reading: ClockReading) -> (ClockJudge, step: Int64) {
        guard let last else {
            return (ClockJudge(record: .init(reading: reading, relayAheadMilliseconds: nil)), 0)
        }
        guard let before = last.reading, before.bootIdentifier == reading.bootIdentifier else {
            let isUncertain = last.relayAheadMilliseconds != nil
            return (
                ClockJudge(
                    record: .init(
                        reading: isUncertain ? nil : reading,
                        relayAheadMilliseconds: last.relayAheadMilliseconds), isUncertain: isUncertain), 0
            )
        }
        let step = reading.offsetMilliseconds - before.offsetMilliseconds
        var judge = ClockJudge(record: last)
        judge.clockChanged(byMilliseconds: step, reading: reading)
        return (judge, step)
    }

    private init(record: ClockRegister.Record, isUncertain: Bool = false) {
        self.record = record
        self.isUncertain = isUncertain
    }

    /// The clock was set by so much.
    mutating func clockChanged(byMilliseconds step: Int64, reading: ClockReading) {
        if let ahead = record.relayAheadMilliseconds { record.relayAheadMilliseconds = ahead - step }
        if !isUncertain { record.reading = reading }
    }

    /// The relay has said how far its clock is ahead. Answers by how much the device's clock was put forward over the
    /// start of the machine; 0 if it was not, or that was known already.
    ///
    /// That it was put back is not believed of the relay alone, whose own clock may have been behind for a while: what
    /// is due would be taken for missed. An interval is never longer than it is, whatever the clock shows.
    mutating func relayIsAhead(byMilliseconds ahead: Int64, reading: ClockReading) -> Int64 {
        let step = isUncertain ? (record.relayAheadMilliseconds ?? ahead) - ahead : 0
        record = .init(reading: reading, relayAheadMilliseconds: ahead)
        isUncertain = false
        return step > Self.toleranceMilliseconds ? step : 0
    }
}

import PostriderNotifications
import PostriderStorage

/// A reading of the device's clocks. From two readings one can tell whether the wall clock was set in between.
struct ClockReading: Equatable {
    /// Identifies one boot of the machine (`/proc/sys/kernel/random/boot_id`).
    let bootIdentifier: String
    /// The wall clock (CLOCK_REALTIME) minus the time since boot (CLOCK_BOOTTIME), in milliseconds. It changes only
    /// when the clock is set.
    let offsetMilliseconds: Int64
}

/// The clock by which the moments of the schedule were computed: one row on the disk.
final class ClockRegister {
    /// A clock, as it was when the schedule was last adjusted to it.
    struct Record: Equatable {
        /// Nil while it is not known whether the clock was set across a reboot.
        var reading: ClockReading?
        /// Milliseconds by which the relay's clock was ahead of the device's; nil if that is not known.
        var relayAheadMilliseconds: Int64?

        /// Whether two records are equal, apart from the second or so by which clocks and networks vary.
        func isClose(to other: Record?) -> Bool {
            guard let other, reading?.bootIdentifier == other.reading?.bootIdentifier,
                (relayAheadMilliseconds == nil) == (other.relayAheadMilliseconds == nil)
            else { return false }
            let offset = (reading?.offsetMilliseconds ?? 0) - (other.reading?.offsetMilliseconds ?? 0)
            let ahead = (relayAheadMilliseconds ?? 0) - (other.relayAheadMilliseconds ?? 0)
            return abs(offset) < 1000 && abs(ahead) < 60_000
        }
    }

    /// The record that was read or stored last; nil if there is none.
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

/// Finds out by how much the wall clock was set while no agent ran.
///
/// Within one boot of the machine, the time since boot tells that. Across a reboot nothing on the machine does, so it
/// is computed from the relay's clock when the next link is up. Pure.
struct ClockJudge {
    /// The clock as it is now.
    private(set) var record: ClockRegister.Record
    /// How far the clock was ahead of the relay's before the reboot; nil once the relay's clock has been compared.
    private var isUncertain: Bool

    /// Clocks that differ by less than this are the same.
    private static let toleranceMilliseconds: Int64 = 5 * 60 * 1000

    /// At a start of the agent. Returns by how much the clock was set since the last record, as far as the device can
    /// know.
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

    /// The clock was set by this much.
    mutating func clockChanged(byMilliseconds step: Int64, reading: ClockReading) {
        if let ahead = record.relayAheadMilliseconds { record.relayAheadMilliseconds = ahead - step }
        if !isUncertain { record.reading = reading }
    }

    /// Compares with the relay's clock. Returns by how much the device's clock was put forward across a reboot; 0 if it
    /// was not, or that was known already.
    ///
    /// A clock that seems to have been put back is not believed on the relay's word alone, because the relay's own
    /// clock may have been behind: notifications that are due would count as missed. Intervals are not at risk: none is
    /// ever longer than it was asked for.
    mutating func relayIsAhead(byMilliseconds ahead: Int64, reading: ClockReading) -> Int64 {
        let step = isUncertain ? (record.relayAheadMilliseconds ?? ahead) - ahead : 0
        record = .init(reading: reading, relayAheadMilliseconds: ahead)
        isUncertain = false
        return step > Self.toleranceMilliseconds ? step : 0
    }
}

import PostriderNotifications
import RelayFixtures
import Testing

@testable import PostriderDeviceQueue
@testable import PostriderRelay

@Suite("A device's place at its home")
struct DeviceEntryTests {
    private let later = Samples.now.advanced(byMilliseconds: 5_000)

    private func entry(with records: [RegistrationRecord]) -> DeviceEntry {
        let entry = DeviceEntry(Samples.record)
        var (tally, effects) = (Tally(), [HomeEffect]())
        for record in records { entry.device.apply(record, &tally, &effects) }
        return entry
    }

    @Test("changes the registry as it is asked to while nothing was refused")
    func usual() {
        let entry = entry(with: [Samples.registration()])
        let ended = Samples.registration(unregisteredAt: later)
        #expect(entry.withCorrections([ended], now: later) == [ended])
        entry.noteChanged([ended], isDurable: true)
        let next = Samples.registration(Samples.second)
        #expect(entry.withCorrections([next], now: later) == [next])
    }

    /// The disk reports an error for an app's change of registration, but has stored the change; the app keeps its
    /// old registration. The next change must not leave two valid registrations of the app for the relay's next
    /// start.
    @Test("puts right what a refused change may have left, with the next one")
    func correction() {
        let entry = entry(with: [Samples.registration()])
        let refused = [Samples.registration(unregisteredAt: later), Samples.registration(Samples.second)]
        entry.noteChanged(refused, isDurable: false)
        let other = Samples.registration(RegistrationNumber(3), of: Samples.otherTopic)
        let changes = entry.withCorrections([other], now: later)
        #expect(
            changes == [
                Samples.registration(), Samples.registration(Samples.second, unregisteredAt: later), other,
            ])
        entry.noteChanged([other], isDurable: true)
        #expect(
            entry.withCorrections([other], now: later) == [other], "once it is durable, nothing is in doubt")
    }

    @Test("does not put right what the next change replaces anyway, and forgets no doubt while changes fail")
    func replaced() {
        let entry = entry(with: [Samples.registration()])
        entry.noteChanged([Samples.registration(Samples.second)], isDurable: false)
        let again = Samples.registration(Samples.second, of: Samples.otherTopic)
        #expect(entry.withCorrections([again], now: later) == [again])
        entry.noteChanged([Samples.registration(unregisteredAt: later)], isDurable: false)
        #expect(
            entry.withCorrections([again], now: later) == [Samples.registration(), again])
    }

    @Test("counts what was found on the disk as waiting, knows when it is due, and lets it be taken once")
    func found() {
        let entry = DeviceEntry(Samples.record)
        #expect(!entry.isDue(at: Moment(milliseconds: .max - 1)))
        entry.keep(
            ([(1, 9_000), (2, 5_000), (3, 7_000)] as [(Int64, Int64)]).map { row, milliseconds in
                Samples.entry(row, expiresAt: Samples.now.advanced(byMilliseconds: milliseconds))
            })
        #expect(entry.pendingCount == 3)
        #expect(!entry.isDue(at: Samples.now.advanced(byMilliseconds: 4_999)) && entry.isDue(at: later))
        #expect(entry.takeFound().map(\.row.value) == [1, 2, 3])
        #expect(entry.pendingCount == 0 && entry.takeFound().isEmpty && !entry.isDue(at: later))
    }
}

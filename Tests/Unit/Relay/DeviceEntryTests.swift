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

    /// The disk reports an error for an app's change of registration, but has stored the change; the app keeps its
    /// old registration. The relay's next start must not find two valid registrations of the app.
    @Test("corrects what refused changes may have left in the registry")
    func correction() {
        let entry = entry(with: [Samples.registration()])
        let refused = [Samples.registration(unregisteredAt: later), Samples.registration(Samples.second)]
        #expect(!entry.isInDoubt && entry.corrections(now: later).isEmpty, "nothing was refused")
        entry.noteRefused(refused)
        #expect(entry.isInDoubt)
        #expect(
            entry.corrections(now: later) == [
                Samples.registration(), Samples.registration(Samples.second, unregisteredAt: later),
            ])
        entry.noteCorrected()
        #expect(!entry.isInDoubt && entry.corrections(now: later).isEmpty)
    }

    @Test("forgets no doubt while changes fail")
    func manyRefused() {
        let entry = entry(with: [Samples.registration()])
        entry.noteRefused([Samples.registration(Samples.second)])
        entry.noteRefused([Samples.registration(unregisteredAt: later)])
        #expect(
            entry.corrections(now: later) == [
                Samples.registration(), Samples.registration(Samples.second, unregisteredAt: later),
            ])
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

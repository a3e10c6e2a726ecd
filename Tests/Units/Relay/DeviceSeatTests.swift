import PostriderNotifications
import Testing

@testable import PostriderRelay

@Suite("A device's place at its home")
struct DeviceSeatTests {
    private let later = Samples.now.advanced(byMilliseconds: 5_000)

    private func seat(with records: [RegistrationRecord]) -> DeviceSeat {
        let seat = DeviceSeat(Samples.record)
        var (tally, effects) = (Tally(), [Device.Effect]())
        for record in records { seat.device.apply(record, &tally, &effects) }
        return seat
    }

    @Test("changes the registry as it is asked to while nothing was refused")
    func usual() {
        let seat = seat(with: [Samples.registration()])
        let ended = Samples.registration(unregisteredAt: later)
        #expect(seat.withCorrections([ended], now: later) == [ended])
        seat.noteChanged([ended], isDurable: true)
        let next = Samples.registration(Samples.second)
        #expect(seat.withCorrections([next], now: later) == [next])
    }

    /// The disk fails while an app changes over, and holds the change all the same; the app stays where it was. A later
    /// change must not leave two good registrations of it for the next start.
    @Test("puts right what a refused change may have left, with the next one")
    func correction() {
        let seat = seat(with: [Samples.registration()])
        let refused = [Samples.registration(unregisteredAt: later), Samples.registration(Samples.second)]
        seat.noteChanged(refused, isDurable: false)
        let other = Samples.registration(RegistrationNumber(3), of: Samples.otherTopic)
        let changes = seat.withCorrections([other], now: later)
        #expect(
            changes == [
                Samples.registration(), Samples.registration(Samples.second, unregisteredAt: later), other,
            ])
        seat.noteChanged([other], isDurable: true)
        #expect(
            seat.withCorrections([other], now: later) == [other], "once it is durable, nothing is in doubt")
    }

    @Test("does not put right what the next change replaces anyway, and forgets no doubt while changes fail")
    func replaced() {
        let seat = seat(with: [Samples.registration()])
        seat.noteChanged([Samples.registration(Samples.second)], isDurable: false)
        let again = Samples.registration(Samples.second, of: Samples.otherTopic)
        #expect(seat.withCorrections([again], now: later) == [again])
        seat.noteChanged([Samples.registration(unregisteredAt: later)], isDurable: false)
        #expect(
            seat.withCorrections([again], now: later) == [Samples.registration(), again])
    }

    @Test("counts what was found on the disk as waiting, knows when it is due, and lets it be taken once")
    func found() {
        let seat = DeviceSeat(Samples.record)
        #expect(!seat.isDue(at: Moment(milliseconds: .max - 1)))
        seat.keep(
            ([(1, 9_000), (2, 5_000), (3, 7_000)] as [(Int64, Int64)]).map { row, milliseconds in
                Samples.entry(row, expiresAt: Samples.now.advanced(byMilliseconds: milliseconds))
            })
        #expect(seat.pendingCount == 3)
        #expect(!seat.isDue(at: Samples.now.advanced(byMilliseconds: 4_999)) && seat.isDue(at: later))
        #expect(seat.takeFound().map(\.row.value) == [1, 2, 3])
        #expect(seat.pendingCount == 0 && seat.takeFound().isEmpty && !seat.isDue(at: later))
    }
}

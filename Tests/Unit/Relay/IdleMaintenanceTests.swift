import PostriderNotifications
import Testing

@testable import PostriderRelay

@Suite("The ledger's quiet time") struct IdleMaintenanceTests {
    /// A store with a number of pieces to prepare.
    private final class Preparing: Store {
        var pieces: Int
        init(_ pieces: Int) { self.pieces = pieces }

        func prepare() -> Bool {
            guard pieces > 0 else { return false }
            pieces -= 1
            return true
        }

        func loadRegistry() throws(StoreError) -> Registry { Registry() }
        func scanQueue(_ visit: (QueueEntry) -> Void) throws(StoreError) -> QueueRow { QueueRow(0) }
        func loadReceipts() throws(StoreError) -> [Receipt] { [] }
        func apply(_ changes: [RegistryChange], completion: @escaping (Result<Void, StoreError>) -> Void) {}
        func commit(_ batch: QueueBatch, completion: @escaping (Result<Void, StoreError>) -> Void) {}
        func read(
            _ rows: [QueueRow], completion: @escaping (Result<[QueuedNotification], StoreError>) -> Void
        ) {}
        func close() {}
    }

    private let clock = HandClock()

    @Test("begins some seconds after the start, takes a piece at a time, and ends with the last")
    func pieces() {
        let store = Preparing(3)
        let quiet = IdleMaintenance(store, on: clock)
        clock.advance(byMilliseconds: IdleMaintenance.beginning - 1)
        #expect(store.pieces == 3)
        clock.advance(byMilliseconds: 1)
        #expect(store.pieces == 2)
        for _ in 0..<2 { clock.advance(byMilliseconds: IdleMaintenance.pause) }
        #expect(store.pieces == 0)
        // This call learns that nothing is left.
        clock.advance(byMilliseconds: IdleMaintenance.pause)
        store.pieces = 1
        clock.advance(byMilliseconds: 10 * IdleMaintenance.pause)
        #expect(store.pieces == 1)
        withExtendedLifetime(quiet) {}
    }

    @Test("is not while somebody wants something")
    func disturbances() {
        let store = Preparing(1)
        let quiet = IdleMaintenance(store, on: clock)
        for _ in 0..<(IdleMaintenance.beginning / 10 + 100) {
            quiet.disturbed()
            clock.advance(byMilliseconds: 10)
        }
        #expect(store.pieces == 1)
        clock.advance(byMilliseconds: 2 * IdleMaintenance.pause)
        #expect(store.pieces == 0)
    }
}

import Endpoints
import Notifications
import Storage
import Testing
import Transport

@testable import Relay

/// One life of a relay: real shards and a real ledger, whose letters wait until the world delivers them.
final class SimulatedRelay {
    private(set) var shards: [Shard] = []
    private(set) var drainedCount = 0
    private(set) var isClosed = false
    private var ledger: Ledger?
    /// When the ledger tries again by itself what the disk has refused.
    private var owing: (any LoopTimer)?
    private var trace: TraceKeeper?
    /// What the trace has not been told because its mailbox was full.
    let traceLosses = TraceLosses()
    private var mail: [[Letter]]
    private var ledgerMail: [LedgerLetter] = []
    private let chance: Chance
    /// Server ends that were put on this relay's loops.
    private(set) var wires: [SimulatedWire] = []

    init(
        shards count: Int, store: any Store, clock: SimulatedClock, chance: Chance,
        storage: Fidelity.StorageDepth, trace disk: MemoryTrace.Disk
    ) throws {
        self.chance = chance
        mail = Array(repeating: [], count: count)
        let loaded = try LoadedStore(store, shards: count)
        let authority = Authority(
            generation: 1, providerKeys: loaded.registry.providerKeys, topics: loaded.registry.topics,
            enrolmentKeys: loaded.registry.enrolmentKeys, log: .none)
        let rows = RowCounter(after: max(loaded.lastRow, MemoryTrace(disk: disk).lastRow))
        ledger = Ledger(
            store: store, shardCount: count, log: .none,
            post: { [unowned self] letter, shard in mail[shard].append(letter) },
            copy: { _, _ in },
            rest: { [unowned self] in owing?.arm(afterMilliseconds: $0) },
            onClosed: { [unowned self] in isClosed = true })
        owing = SimulatedScheduler(shard: 0, clock: clock).makeTimer { [unowned self] in
            ledger?.settleOwed()
        }
        let trace = TraceKeeper(
            MemoryTrace(disk: disk, segmentRecords: 500, mostSegments: .max), sample: 1, losses: traceLosses,
            log: .none, now: Moment(milliseconds: SimulatedClock.beginning + clock.milliseconds),
            post: { [unowned self] letter, shard in mail[shard].append(letter) }, onClosed: {})
        self.trace = trace
        for index in 0..<count {
            let shard = Shard(
                index: index,
                scheduler: SimulatedScheduler(shard: index, clock: clock),
                switchboard: switchboard(of: index, among: count),
                rows: rows,
                seal: try TokenSeal(secrets: loaded.registry.tokenSecrets),
                authority: authority,
                random: chance,
                deviceRules: DeviceRules(storage: storage),
                log: .none,
                porter: porter(of: index),
                trace: TraceRecorder(ofShard: index, sample: 1, losses: traceLosses) { letter in
                    trace.receive([letter])
                    return true
                })
            shard.onDrained = { [unowned self] in drainedCount += 1 }
            shard.restore(loaded)
            shard.start()
            shards.append(shard)
        }
    }

    /// Now and then a mailbox has no room for all.
    private func switchboard(of index: Int, among count: Int) -> Switchboard {
        Switchboard(
            ownIndex: index,
            shards: (0..<count).map { other in
                { [unowned self] letters in post(&letters, to: \.mail[other]) }
            },
            ledger: { [unowned self] letters in post(&letters, to: \.ledgerMail) })
    }

    private func post<Letter>(
        _ letters: inout [Letter], to box: ReferenceWritableKeyPath<SimulatedRelay, [Letter]>
    ) -> Bool {
        let count = chance.once(in: 20) ? chance.number(0...letters.count) : letters.count
        self[keyPath: box] += letters[..<count]
        letters.removeFirst(count)
        return letters.isEmpty
    }

    private func porter(of index: Int) -> ConnectionPorter {
        ConnectionPorter(
            detach: { ($0.wire as? SimulatedWire)?.detach() },
            adopt: { [unowned self] crate in
                guard let number = crate as? Int, let wire = wires.first(where: { $0.number == number })
                else { return nil }
                wire.adopt(by: index)
                return wire.session?.owner as? DeviceSession
            })
    }

    // MARK: Turns

    /// Everything that a loop does around an event.
    func turn(_ index: Int, _ event: () -> Void = {}) {
        event()
        shards[index].turnEnded()
        for wire in wires where wire.shard == index { wire.endTurn() }
        shards[index].turnEnded()
        #expect(shards[index].tally.isBalanced)
        #expect(shards[index].deviceRules.storage == .queue || shards[index].keepsLatestOnly)
        wires.removeAll { $0.hasEnded }
    }

    /// The shards that have letters, and the number of shards for the ledger.
    var addressees: [Int] {
        mail.indices.filter { !mail[$0].isEmpty } + (ledgerMail.isEmpty ? [] : [mail.count])
    }

    /// Delivers some of the letters to one of them, in order.
    func deliver(to addressee: Int) {
        if addressee == mail.count {
            let some = Array(ledgerMail.prefix(chance.number(1...ledgerMail.count)))
            ledgerMail.removeFirst(some.count)
            ledger?.receive(some)
        } else {
            var some = Array(mail[addressee].prefix(chance.number(1...mail[addressee].count)))
            mail[addressee].removeFirst(some.count)
            turn(addressee) { shards[addressee].receive(&some) }
        }
    }

    /// A client connects to one of the shards.
    func accept(_ wire: SimulatedWire) {
        wires.append(wire)
        wire.opened()
    }

    func post(_ letter: Letter) { for index in mail.indices { mail[index].append(letter) } }
    func closeLedger() { ledgerMail.append(.close) }

    /// The process dies: nobody hears anything, but for the clients' ends.
    func die() {
        for wire in wires { wire.cut() }
        for wire in wires {
            if wire.isMoving { wire.adopt(by: 0) }
            wire.endTurn()
        }
        wires = []
    }
}

extension Shard {
    /// Whether no app has more than one notification that waits: not in its device's hands, and to be kept.
    fileprivate var keepsLatestOnly: Bool {
        seats.values.allSatisfy { seat in
            let waiting = seat.device.queue.rows { $0.delivery == nil && $0.expiresAt != nil }
            let registrations = waiting.compactMap { seat.device.queue[$0]?.registration }
            return Set(registrations).count == registrations.count
        }
    }
}

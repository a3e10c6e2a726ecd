import PostriderEndpoints
import PostriderNotifications

@testable import PostriderRelay

/// What goes wrong: connections, the disk, the clock, the relay itself; and what the operator does.
extension World {
    /// A device gives a dead link up after so long.
    private static let patienceMilliseconds: Int64 = 40_000
    /// A relay has found a dead link after two keepalive intervals of the longest kind, its PING, and what a farewell
    /// may take.
    private static let mostDeadMilliseconds: Int64 = 2 * 30_000 + 20_000 + 10_000

    // MARK: Connections

    /// Both ends of a connection are cut, wherever it is.
    func cutSomebody() {
        guard let client = chance.pick(clients) else { return }
        findings.count()
        cut(client)
    }

    func cut(_ client: SimulatedWire) {
        let server = client.other
        client.cut()
        server?.cut()
        if let shard = server?.shard { relay.turn(shard) }
    }

    /// A provider says nothing more and listens on, or a device ends its stream, or its socket, without a word.
    func closeHalf() {
        if chance.once(in: 2), let provider = chance.pick(providers) {
            findings.count()
            return provider.closeHalf()
        }
        guard let session = chance.pick(sessions) else { return }
        findings.count()
        if chance.once(in: 2) { return session.endLinkStream() }
        (session.endpoint.wire as? SimulatedWire)?.closeHalf()
    }

    /// A device's network is gone, and nobody is told.
    func goDead() {
        guard let session = chance.pick(sessions), let wire = session.endpoint.wire as? SimulatedWire else {
            return
        }
        findings.count()
        wire.goDead(at: clock.milliseconds)
    }

    /// Who has waited for too long gives up; the relay has to have noticed by itself.
    func missDeadLinks() {
        for wire in clients {
            if let since = wire.deadSince, since + Self.patienceMilliseconds < clock.milliseconds {
                wire.cut()
            }
        }
        for wire in relay.wires {
            guard let since = wire.deadSince else { continue }
            findings.expect(
                since + Self.mostDeadMilliseconds > clock.milliseconds, .rest,
                "a link is dead for \(clock.milliseconds - since) ms, and the relay has not noticed")
        }
    }

    // MARK: Disk, clock, operator

    func changeDisk() {
        findings.count()
        disk.health = chance.pick([.well, .full, .notSyncing, .broken]) ?? .well
    }

    /// Somebody sets the clock. Within half an hour: provider tokens have their time, too.
    func jump() {
        let interval = Int64(chance.pick([-600_000, -20_000, -3_000, 3_000, 20_000, 600_000]) ?? 0)
        guard abs(clock.jumped + interval) <= 1_200_000 else { return }
        findings.count()
        clock.jump(byMilliseconds: interval)
    }

    /// The operator removes a device, as `postrider device remove` does.
    func removeSomebody() {
        guard let device = chance.pick(devices), let identity = device.identity,
            let shard = chance.pick(relay.shards)
        else { return }
        findings.count()
        device.removals.insert(identity)
        relay.turn(shard.index) {
            shard.changes.apply([.removeDevice(identity)]) { [unowned shard] result in
                if result.isSuccess { shard.queries.ask(.remove(identity)) { _ in } }
            }
        }
    }

    // MARK: The end of a relay, and the next one

    func crash() throws {
        findings.count()
        crashes.append(events)
        relay.die()
        for wire in clients { wire.cut() }
        try startAgain()
    }

    private func startAgain() throws {
        endClientTurns()
        disk.openAnew()
        formerDeferrals += relay.deferrals
        lives += 1
        relay = try SimulatedRelay(
            shards: isResized ? chance.number(1...4) : relay.shards.count,
            storage: storages.count > 1 ? chance.pick(storages) ?? .queue : relay.storage, in: house)
        if isMistaken { mistakeClock() }
        if chance.once(in: 2) { returnAll() }
    }

    /// Before anybody is back, the clock is put forward by a year, and put right half a minute later. Nothing that
    /// waits is over by that.
    private func mistakeClock() {
        clock.mistake(byMilliseconds: 365 * 86_400_000) {
            advance(byMilliseconds: 30_000)
            rest()
        }
        advance(byMilliseconds: 15_000)
    }

    func restartInOrder() throws {
        findings.count()
        disk.health = .well
        isDraining = true
        relay.post(.lifecycle(.drain))
        for _ in 0..<200 where relay.drainedCount < relay.shards.count {
            rest()
            advance(byMilliseconds: 100)
        }
        findings.expect(
            relay.drainedCount == relay.shards.count, .rest,
            "\(relay.drainedCount) of \(relay.shards.count) shards are drained in time")
        relay.closeLedger()
        rest()
        findings.expect(relay.isClosed, .rest, "the ledger is not closed")
        isDraining = false
        relay.die()
        for wire in clients { wire.cut() }
        try startAgain()
    }
}

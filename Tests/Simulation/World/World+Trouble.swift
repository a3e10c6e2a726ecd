import PostriderEndpoints
import PostriderNotifications

@testable import PostriderRelay

/// Faults of connections, the disk, the clock and the relay itself, and the operator's changes.
extension World {
    /// The time after which a device gives up a dead link.
    private static let patienceMilliseconds: Int64 = 40_000
    /// The time after which a relay must have detected a dead link: two of the longest keepalive intervals, the wait
    /// for a PING's answer, and the time of a farewell.
    private static let mostDeadMilliseconds: Int64 = 2 * 30_000 + 20_000 + 10_000

    /// The same for a browser: two intervals between pings, and the time for the end of the WebSocket.
    private static let mostDeadWebMilliseconds = Int64(
        2 * Limits.webPingMilliseconds + Limits.webRequestMilliseconds + 10_000)

    // MARK: Connections

    /// Cuts a connection at both ends.
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

    /// A provider ends its sending side, or a device ends its stream or its socket, without a message.
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

    /// Disconnects a device's network without notice.
    func goDead() {
        guard let session = chance.pick(sessions), let wire = session.endpoint.wire as? SimulatedWire else {
            return
        }
        findings.count()
        wire.goDead(at: clock.milliseconds)
    }

    /// Lets clients that have waited too long give up, and checks that the relay has detected dead links by itself.
    func missDeadLinks() {
        for wire in clients {
            if let since = wire.deadSince, since + Self.patienceMilliseconds < clock.milliseconds {
                wire.cut()
            }
        }
        for wire in relay.wires {
            guard let since = wire.deadSince else { continue }
            let most =
                wire.session is WebConnection ? Self.mostDeadWebMilliseconds : Self.mostDeadMilliseconds
            findings.expect(
                since + most > clock.milliseconds, .rest,
                "a link is dead for \(clock.milliseconds - since) ms, and the relay has not noticed")
        }
    }

    // MARK: Disk, clock, operator

    func changeDisk() {
        findings.count()
        disk.health = chance.pick([.well, .full, .notSyncing, .broken]) ?? .well
    }

    /// Sets the clock by at most half an hour, because provider tokens depend on the time, too.
    func jump() {
        let interval = Int64(chance.pick([-600_000, -20_000, -3_000, 3_000, 20_000, 600_000]) ?? 0)
        guard abs(clock.jumped + interval) <= 1_200_000 else { return }
        findings.count()
        clock.jump(byMilliseconds: interval)
    }

    /// Removes a device as the operator, like `postrider devices remove`.
    func removeSomebody() {
        guard let device = chance.pick(devices), let identity = device.identity,
            let shard = chance.pick(relay.shards)
        else { return }
        findings.count()
        device.removals.insert(identity)
        remove(identity, on: shard)
    }

    func remove(_ identity: DeviceIdentity, on shard: Shard) {
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

    /// Sets the clock a year ahead before any client is back, and corrects it half a minute later. No stored
    /// notification may expire by that.
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

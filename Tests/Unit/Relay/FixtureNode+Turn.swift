import PostriderCluster
import PostriderNotifications

@testable import PostriderRelay

// What a node does in one turn of all its threads.
extension FixtureNode {
    /// What the timers of the node's threads do.
    func lookAtClock() {
        guard isAwake else { return }
        let now = fixture.clock.now
        if let moment = work.wakesAt, moment <= now { work.turn(at: now) }
        if let moment = ledgerRestsUntil, moment <= now {
            ledgerRestsUntil = nil
            ledger?.settleOwed()
        }
    }

    /// Lets everything happen that is under way here, or a portion of what waits at each place. Returns whether
    /// anything was.
    func turn(_ portion: (Int) -> Int = { $0 }) -> Bool {
        guard isAwake else { return false }
        var hasWorked = trace?.turn() == true || !later.isEmpty
        for happening in Self.take(&later, { $0 }) { happening() }
        for request in Self.take(&requests, portion) {
            hasWorked = true
            ask(request)
        }
        for event in Self.take(&events, portion) {
            hasWorked = true
            take(event)
        }
        for index in shards.indices where index != busy.shard || fixture.clock.now >= busy.until {
            hasWorked = turn(ofShard: index, portion) || hasWorked
        }
        if let ledger {
            let some = Self.take(&commands, portion)
            hasWorked = hasWorked || !some.isEmpty
            if !some.isEmpty { ledger.receive(some) }
        }
        for message in Self.take(&outgoing, portion) {
            hasWorked = true
            if fixture.fault == .hastyRecall,
                case .handover(.recall(_, let shard, let ticket)) = message.message
            {
                mail[shard].append(.handover(.recalled(place: shard, ticket: ticket, shards: 1)))
            }
            messages.pass(message)
        }
        for link in openLinks {
            for bytes in wires.take(from: link, at: fixture.clock.now, portion) where wires.open[link] != nil
            {
                hasWorked = true
                hear(bytes, over: link)
            }
        }
        return hasWorked
    }

    /// Removes and returns the first of what waits.
    static func take<Element>(_ waiting: inout [Element], _ portion: (Int) -> Int) -> [Element] {
        let some = Array(waiting.prefix(portion(waiting.count)))
        waiting.removeFirst(some.count)
        return some
    }

    private func take(_ event: NodeEvent) {
        let now = fixture.clock.now
        switch event {
        case .answered(let answer, let failure): work.answered(answer, failure, at: now)
        case .claimed, .stop: break
        case .taken(let partitions): work.taken(partitions, at: now)
        case .notTaken(let partitions, let error): work.notTaken(partitions, error)
        case .left(let ticket): work.left(ticket, at: now)
        case .renewed(let version): work.renewed(version)
        case .ready: work.begin(at: now)
        case .drain: work.drain(at: now)
        case .leave: work.leave(at: now)
        }
    }
}

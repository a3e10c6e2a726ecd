import Courier
import Notifications
import Storage
import Testing

@testable import Relay

/// What the observer is told, and holds against it.
extension World {
    static func payload(_ push: Push) -> [UInt8] {
        let padding = String(repeating: "x", count: push.number % 7 * 100)
        return Array(#"{"aps":{"alert":"\#(push.number)"},"pad":"\#(padding)"}"#.utf8)
    }

    func noteWelcome() { welcomes += 1 }

    func answered(_ number: Int, _ status: Int, _ body: String) {
        let push = pushes[number]
        #expect(push.status == nil && push.fault != .reset, "push \(number) is answered once")
        pushes[number].status = status
        pushes[number].answeredAt = events
        let expected: [Int] =
            switch push.fault {
            case .none: [200, 410, 429, 503]
            case .method: [405, 503]
            case .forgedToken, .environment, .topic, .payload: [400, 503]
            case .hugeBody: [413, 503]
            case .reset: []
            }
        #expect(expected.contains(status), "push \(number), \(push.fault): \(status) \(body)")
        if status == 200 {
            #expect(
                isSafe(push) || isReplaced(push), "push \(number) is neither on the disk nor with its device")
        }
    }

    func unanswered(_ number: Int, isOwed: Bool) {
        #expect(
            !isOwed || !isDraining || pushes[number].fault == .reset, "push \(number) was open in the drain")
    }

    func delivered(_ deliver: Deliver, to device: SimulatedDevice, isFirstOnLink: Bool, isNewestLink: Bool) {
        deliveries += 1
        let number = Int(deliver.identity.low)
        guard pushes.indices.contains(number) else {
            Issue.record("delivery of a push that nobody made")
            return
        }
        let push = pushes[number]
        #expect(push.device == device.index && push.topic == deliver.topic && push.fault == .none)
        #expect(deliver.payload == Self.payload(push) && deliver.collapseIdentifier == push.collapse)
        #expect(isFirstOnLink || push.collapse != nil, "push \(number) is delivered twice on one link")
        guard device.known.insert(number).inserted else { return }
        // An older link may still have something on its way when the newer one is welcomed.
        guard isNewestLink else { return }
        // What is at once overtakes what is held back.
        let lane = device.index * 16 + (Int(push.priority) ?? 0)
        let youngest = youngest[lane] ?? 0
        if let answeredAt = push.answeredAt, push.collapse == nil {
            #expect(
                answeredAt >= youngest || storage == .latest,
                "push \(number) comes after one that was sent when it was accepted")
        }
        self.youngest[lane] = max(youngest, push.sentAt)
    }

    /// Whether the app has changed over to the other environment since.
    private func hasDeadToken(_ push: Push) -> Bool {
        devices[push.device].registrations[push.topic]?.deviceToken.hex != push.token
    }

    /// On the disk at some time, or with the device, or not to be kept.
    private func isSafe(_ push: Push) -> Bool {
        memory.committed.contains(push.identity) || isDone(push)
    }

    private func isDone(_ push: Push) -> Bool {
        devices[push.device].known.contains(push.number) || push.isNowOrNever
            || push.expiresAt.map { $0.milliseconds / 1000 * 1000 <= now.milliseconds } ?? false
    }

    /// Whether another push took its slot that may have come to the home after it. One that was refused with 503 may
    /// have done so all the same, if the relay was killed before the disk forgot it; then it is with the device.
    private func isReplaced(_ push: Push) -> Bool {
        let canBeReplaced = storage == .latest ? !push.isNowOrNever : push.collapse != nil
        guard canBeReplaced else { return false }
        return pushes.contains {
            $0.number != push.number && $0.device == push.device && $0.topic == push.topic
                && (storage == .latest ? !$0.isNowOrNever : $0.collapse == push.collapse) && $0.fault == .none
                && ($0.status == 200 || $0.status == nil || devices[$0.device].known.contains($0.number))
                && ($0.answeredAt.map { $0 >= push.sentAt } ?? true)
        }
    }

    func check() {
        for push in pushes where push.status == 200 {
            #expect(
                isDone(push) || isReplaced(push) || hasDeadToken(push),
                "push \(push.number) was answered 200 and is lost")
        }
        for push in pushes where push.status == 410 {
            #expect(hasDeadToken(push), "push \(push.number) was answered 410, and its token is good")
        }
        var left = 0
        _ = try? WatchedStore(disk, memory).scanQueue { _ in left += 1 }
        #expect(left == 0, "nothing is left on the disk")
        #expect(relay.shards.map(\.providers.count).reduce(0, +) == providers.count)
        #expect(relay.shards.map(\.devices.count).reduce(0, +) == sessions.count)
        checkTrace()
    }

    /// The trace and the counters tell the same, each of the present relay's life; and no push ends twice in one.
    private func checkTrace() {
        for shard in relay.shards { shard.trace.flush() }
        #expect(relay.traceLosses.count == 0)
        var counts: [TraceEvent.Kind: UInt64] = [:]
        var accepted: Set<QueueRow> = []
        var over: Set<QueueRow> = []
        let trace = MemoryTrace(disk: traceDisk)
        for segment in trace.segments {
            _ = try? trace.visit(from: TracePosition(segment: segment), limit: .max) { record in
                switch record {
                case .acceptance(let push):
                    #expect(accepted.insert(push.row).inserted, "row \(push.row.value) is drawn twice")
                case .event(let event) where event.kind == .started: (counts, over) = ([:], [])
                case .event(let event):
                    counts[event.kind, default: 0] += 1
                    if event.kind == .recalled { over.remove(event.row) }
                    guard event.kind.isEnding else { return }
                    #expect(over.insert(event.row).inserted, "row \(event.row.value) ends twice")
                case .report: break
                }
            }
        }
        var tally = Tally()
        for shard in relay.shards { tally += shard.tally }
        let count = { counts[$0] ?? 0 }
        #expect(count(.acknowledged) == tally.delivered)
        #expect(count(.replaced) + count(.merged) - count(.recalled) == tally.replaced)
        #expect(count(.expired) == tally.expired && count(.discarded) == tally.discarded)
        #expect(count(.dropped) == tally.dropped)
        #expect(UInt64(over.count) == tally.accepted - tally.pending, "every push of this life has its end")
        for push in pushes where push.status == 200 { checkLife(of: push, in: trace) }
    }

    /// A push that was answered 200 is found by its identity, unless the relay died before it told the trace.
    private func checkLife(of push: Push, in trace: MemoryTrace) {
        guard lives == 1 else { return }
        var search = TraceSearch(TraceFilter(identity: push.identity), last: 10, in: trace)
        while (try? search.step(trace)) == false {}
        let ends = search.found.map { $0.events.contains(where: \.kind.isEnding) }
        #expect(ends.contains(true) && !ends.contains(false), "push \(push.number) has no end in the trace")
    }
}

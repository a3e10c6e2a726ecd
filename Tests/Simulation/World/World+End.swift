import PostriderCourier
import PostriderEndpoints
import PostriderNotifications
import PostriderStorage

@testable import PostriderDeviceQueue
@testable import PostriderRelay

/// The end of a run: pushes and faults stop, everybody connects and receives what is left, and then every push must
/// be accounted for.
extension World {
    func finish() {
        disk.health = .well
        floodsLeft = 0
        isEnding = true
        for _ in 0..<4000 where findings.first == nil {
            rest()
            returnAll()
            unwish()
            for session in sessions {
                session.acknowledge(.max)
                if session.isWelcome { session.say(.fetch) }
            }
            for session in web.sessions { session.acknowledge(.max) }
            rest()
            if isAtRest {
                restFully()
                check()
                checkChannels()
                collectReceipts()
                return checkMessages()
            }
            advance(byMilliseconds: 200)
        }
        if findings.first == nil {
            findings.note(
                .rest,
                "the world does not come to rest: the relay holds \(connected), and \(present) are there")
        }
    }

    /// The numbers of providers, devices, senders and browsers that are connected to the relay.
    private var connected: [Int] {
        let all = relay.shards.map { shard in
            [
                shard.providers.count, shard.devices.sessions.count, shard.web.routes.senders.count,
                shard.web.sessions.count,
            ]
        }
        return (0..<4).map { index in all.reduce(0) { $0 + $1[index] } }
    }

    /// The same as the clients know them.
    private var present: [Int] {
        [providers.count, sessions.count, web.senders.count, web.sessions.count]
    }

    private var isAtRest: Bool {
        let pending = relay.shards.reduce(0) { $0 + $1.home.tally.pending }
        return pending == 0 && sessions.count == devices.count
            && sessions.allSatisfy { $0.isWelcome && $0.isIdle } && providers.allSatisfy { $0.openCount == 0 }
            && web.sessions.count == web.browsers.count && web.sessions.allSatisfy(\.isIdle)
            && web.senders.allSatisfy { $0.openCount == 0 } && connected == present
            && clients.allSatisfy { $0.deadSince == nil } && !relay.isOwing
    }

    private func check() {
        for push in pushes.all where push.fault == .none {
            findings.expect(
                push.status != 200 || isOver(push) || isReplaced(push) || hasDeadToken(push)
                    || isOverflow(push),
                .loss, "push \(push.number) was answered 200 and is lost")
            findings.expect(
                push.status != 410 || hasDeadToken(push), .answers,
                "push \(push.number) was answered 410, and its token is good")
        }
        var left = 0
        _ = try? SimulatedStore(disk).scanQueue { _ in left += 1 }
        findings.expect(left == 0, .conservation, "\(left) rows are left on the disk")
        for device in devices { checkRegistrations(of: device) }
        checkTrace()
    }

    /// With nothing under way, checks that each connected device that waits for nothing agrees with its home.
    func checkQuiet() {
        for device in devices {
            guard let session = device.session, session.isWelcome, session.isIdle,
                (session.endpoint.wire as? SimulatedWire)?.deadSince == nil
            else { continue }
            checkRegistrations(of: device)
        }
    }

    /// Checks that a device's registrations are those of its home, unless a change waits for the disk.
    private func checkRegistrations(of device: SimulatedDevice) {
        guard let identity = device.identity, !device.removals.contains(identity),
            let entry = relay.shards.lazy.compactMap({ $0.home.entries[identity] }).first,
            entry.requests.isEmpty
        else { return }
        var known: [String: PostriderNotifications.Environment] = [:]
        for (number, registration) in entry.device.registrations where registration.unregisteredAt == nil {
            known[registration.topic.text] = number.environment
        }
        let believed = device.registrations.mapValues(\.environment)
        findings.expect(
            known == believed, .answers, "device \(device.index) believes \(believed), and has \(known)")
    }

    /// Whether the push was dropped because too many were stored for its app.
    private func isOverflow(_ push: Push) -> Bool {
        isFlooded && push.priority == "1" && pushes.count(to: push.token) > Limits.pendingPerRegistration
    }

    /// Checks that trace and counters agree for the relay's present process, that no push ends twice in it, and that
    /// none was sent after its expiration.
    private func checkTrace() {
        var story = TraceStory(findings)
        readTrace { story.read($0) }
        findings.expect(relay.traceLosses.count == 0, .conservation, "the trace has lost something")
        var tally = Tally()
        for shard in relay.shards { tally += shard.home.tally }
        story.compare(with: tally)
        guard lives == 1 else { return }
        for push in pushes.all where push.status == 200 && !push.hasSharedIdentity {
            findings.expect(
                story.hasEnded(push.identity), .conservation, "push \(push.number) has no end in the trace")
        }
    }
}

extension World {
    /// Reads all records of the trace, from its beginning.
    func readTrace(_ visit: (TraceRecord) -> Void) {
        for shard in relay.shards { shard.context.trace.flush() }
        let trace = MemoryTrace(disk: house.traceDisk)
        for segment in trace.segments {
            _ = try? trace.visit(from: TracePosition(segment: segment), limit: .max, visit)
        }
    }
}

/// The contents of the trace, read from beginning to end.
struct TraceStory {
    private let findings: Findings
    private var counts: [TraceEvent.Kind: UInt64] = [:]
    private var accepted: [QueueRow: TraceAcceptance] = [:]
    private var over: Set<QueueRow> = []
    private var ended: Set<NotificationIdentity> = []

    init(_ findings: Findings) { self.findings = findings }

    mutating func read(_ record: TraceRecord) {
        switch record {
        case .acceptance(let push):
            findings.expect(
                accepted.updateValue(push, forKey: push.row) == nil, .conservation,
                "row \(push.row.value) is drawn twice")
        case .event(let event) where event.kind == .started: (counts, over) = ([:], [])
        case .event(let event): read(event)
        case .report: break
        }
    }

    private mutating func read(_ event: TraceEvent) {
        counts[event.kind, default: 0] += 1
        let push = accepted[event.row]
        if event.kind == .sent, let push, case .at(let moment) = push.expiration {
            findings.expect(
                event.moment < moment, .expiration,
                "row \(event.row.value) is sent at \(event.moment), and expired at \(moment)")
        }
        if event.kind == .recalled {
            over.remove(event.row)
            if let push { ended.remove(push.identity) }
        }
        guard event.kind.isEnding else { return }
        findings.expect(
            over.insert(event.row).inserted, .conservation, "row \(event.row.value) ends twice")
        if let push { ended.insert(push.identity) }
    }

    func compare(with tally: Tally) {
        let count = { counts[$0] ?? 0 }
        let pairs: [(String, UInt64, UInt64)] = [
            ("delivered", count(.acknowledged), tally.delivered),
            ("replaced", count(.replaced) + count(.merged) - count(.recalled), tally.replaced),
            ("expired", count(.expired), tally.expired),
            ("discarded", count(.discarded), tally.discarded),
            ("dropped", count(.dropped), tally.dropped),
            ("over", UInt64(over.count), tally.accepted - tally.pending),
        ]
        for (name, told, counted) in pairs {
            findings.expect(
                told == counted, .conservation,
                "the trace tells of \(told) \(name), the counters of \(counted)")
        }
    }

    /// Whether a push of this identity has ended.
    func hasEnded(_ identity: NotificationIdentity) -> Bool { ended.contains(identity) }
}

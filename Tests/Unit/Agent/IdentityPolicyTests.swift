import PostriderClients
import PostriderCourier
import PostriderNotifications
import PostriderTransport
import Synchronization
import Testing

@testable import PostriderAgent

@Suite("An agent whose relay does not take its identity")
struct IdentityPolicyTests {
    private let lines = Lines()

    private final class Lines: Sendable {
        let all = Mutex<[String]>([])
        var log: Log { Log { [self] level, line in all.withLock { $0.append("\(level): \(line)") } } }
        var count: Int { all.withLock { $0.count } }
    }

    private func policy(key: String?, onClone: ClonePolicy = .wait) throws -> IdentityPolicy {
        var configuration = AgentConfiguration(
            relays: [try Destination("relay.example.org:5223")], stateDirectory: "/state",
            socketPath: "/socket", name: "device", version: "test/1")
        configuration.enrolmentKey = key
        configuration.onClone = onClone
        return IdentityPolicy(configuration)
    }

    private func goodbye(_ reason: Goodbye.Reason) -> LinkEnd {
        .goodbye(Goodbye(reason: reason, retryAfterMilliseconds: 0, detail: ""))
    }

    @Test(
        "enrols anew where it has a key, also when its operator has removed it while it was connected",
        .bug(id: "A10"))
    func unknown() throws {
        for (key, verdict) in [("key", .enrolAnew), (nil, .wait)] as [(String?, IdentityPolicy.Verdict)] {
            let policy = try policy(key: key)
            for wasConnected in [false, true] {
                let before = lines.count
                #expect(
                    policy.unknown(goodbye(.removed), wasConnected: wasConnected, log: lines.log) == verdict)
                #expect(lines.count == before + 1)
                let line = lines.all.withLock { $0.last } ?? ""
                #expect(line.contains("restored from an older backup") != wasConnected)
                #expect(line.contains("POSTRIDER_ENROLMENT_KEY") == (key == nil))
            }
        }
    }

    @Test("waits beside a clone, or enrols anew where it may and has a key", .bug(id: "A9"))
    func clones() throws {
        for (key, onClone, verdict) in [
            ("key", .wait, .wait), ("key", .enrolAnew, .enrolAnew), (nil, .enrolAnew, .wait),
        ] as [(String?, ClonePolicy, IdentityPolicy.Verdict)] {
            var policy = try policy(key: key, onClone: onClone)
            #expect(policy.replaced(goodbye(.duplicated), now: 0, log: lines.log) == verdict)
            #expect(policy.replaced(goodbye(.replaced), now: 0, log: lines.log) == .wait)
        }
    }

    @Test("says once an hour that there is a clone, and what to do", .bug(id: "A9"))
    func hourly() throws {
        var policy = try policy(key: "key")
        for minute in 0..<121 as Range<UInt64> {
            _ = policy.replaced(goodbye(.duplicated), now: minute * 60_000_000_000, log: lines.log)
        }
        #expect(lines.count == 3)
        #expect(lines.all.withLock { $0.first }?.contains("on-clone: enrol-anew") == true)
    }
}

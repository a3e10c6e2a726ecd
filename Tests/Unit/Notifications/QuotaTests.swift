import PostriderNotifications
import Testing

@Suite("Quotas")
struct QuotaTests {
    private static func quotas(_ texts: String...) throws -> [Quota] {
        try texts.map { try #require(Quota($0)) }
    }

    private static func topic(_ text: String) throws -> Topic { try #require(Topic(text)) }

    private static let second: UInt64 = 1_000_000_000

    @Test("are read from words")
    func reading() throws {
        let quota = try #require(Quota("team=T1 pushes-per-second=5 pending=10 devices=3 payload-bytes=100"))
        #expect(quota.subject == .team("T1") && quota.isOfTeams)
        #expect(quota.limits == [.pushesPerSecond: 5, .pending: 10, .devices: 3, .payloadBytes: 100])
        #expect(Quota("topic=org.example.app pending=1")?.subject?.name == "org.example.app")
        #expect(Quota("topic=* pending=1").map { $0.subject == nil && !$0.isOfTeams } == true)
    }

    @Test(
        "that are misspelt are refused",
        arguments: [
            "", "team=T1", "team= pending=1", "team pending=1", "app=x pending=1", "topic=a/b pending=1",
            "team=T1 pending=0", "team=T1 pending=x", "team=T1 pending", "team=T1 pending=1=2",
            "team=T1 pending=1 pending=2", "team=T1 waiting=1", "team=T1 pushes-per-second=1000001",
            "team=T1 payload-bytes=5121", "pending=1 team=T1",
        ])
    func misspelt(_ text: String) { #expect(Quota(text) == nil) }

    @Test("take ten seconds' worth of pushes at once, then the rate, and say when one more has room")
    func rate() throws {
        let set = QuotaSet(try Self.quotas("team=T1 pushes-per-second=2"))
        let quotas = try #require(set.quotas(of: try Self.topic("a"), "T1"))
        for _ in 0..<20 { #expect(quotas.takePush(payloadBytes: 1, now: 0) == nil) }
        #expect(quotas.takePush(payloadBytes: 1, now: 0) == .rate(retryAfterSeconds: 1))
        #expect(quotas.takePush(payloadBytes: 1, now: Self.second / 2) == nil)
        #expect(quotas.takePush(payloadBytes: 1, now: Self.second / 2) == .rate(retryAfterSeconds: 1))
        #expect(set.all.map { $0.refusals(.pushesPerSecond) } == [2])
        #expect(set.quotas(of: try Self.topic("a"), "T2") == nil)
    }

    @Test("of a team and of its app both count, and a push that one refuses does not count for the other")
    func both() throws {
        let set = QuotaSet(
            try Self.quotas("team=T1 pushes-per-second=2", "topic=a pushes-per-second=1"))
        let (narrow, wide) = (
            try #require(set.quotas(of: try Self.topic("a"), "T1")),
            try #require(set.quotas(of: try Self.topic("b"), "T1"))
        )
        for _ in 0..<10 { #expect(narrow.takePush(payloadBytes: 1, now: 0) == nil) }
        for _ in 0..<50 {
            #expect(narrow.takePush(payloadBytes: 1, now: 0) == .rate(retryAfterSeconds: 1))
        }
        for _ in 0..<10 { #expect(wide.takePush(payloadBytes: 1, now: 0) == nil) }
        #expect(wide.takePush(payloadBytes: 1, now: 0) == .rate(retryAfterSeconds: 1))
    }

    @Test("of a large payload refuse it before it counts as a push")
    func payload() throws {
        let set = QuotaSet(try Self.quotas("topic=a payload-bytes=10 pushes-per-second=1"))
        let quotas = try #require(set.quotas(of: try Self.topic("a"), nil))
        for _ in 0..<50 { #expect(quotas.takePush(payloadBytes: 11, now: 0) == .payload) }
        for _ in 0..<10 { #expect(quotas.takePush(payloadBytes: 10, now: 0) == nil) }
    }

    @Test("with * are of each team and app that has none of its own, and an app has those of its suffixes")
    func usual() throws {
        let set = QuotaSet(
            try Self.quotas("team=* pending=2", "team=T1 pending=3", "topic=* devices=1"))
        for team in ["T1", "T2", "T3", "T2"] { _ = set.quotas(of: try Self.topic("a"), team) }
        _ = set.quotas(of: try Self.topic("a.voip"), "T1")
        #expect(set.all.map(\.subject.name) == ["T1", "a", "T2", "T3"])
    }

    @Test("go on from what was used before a reload")
    func reload() throws {
        let before = QuotaSet(try Self.quotas("team=T1 pushes-per-second=1 pending=5"))
        let old = try #require(before.quotas(of: try Self.topic("a"), "T1"))
        for _ in 0..<11 { _ = old.takePush(payloadBytes: 1, now: 0) }
        old.add(pending: 4)
        let after = QuotaSet(try Self.quotas("team=T1 pushes-per-second=1 pending=4"), after: before)
        let new = try #require(after.quotas(of: try Self.topic("a"), "T1"))
        #expect(new.takePush(payloadBytes: 1, now: 0) == .rate(retryAfterSeconds: 1))
        #expect(!new.hasRoomForPending() && old.hasRoomForPending())
        let meter = try #require(after.all.first)
        #expect(meter.pending == 4 && meter.refusals(.pushesPerSecond) == 2 && meter.refusals(.pending) == 1)
    }

    @Test("are exact if many threads push at once")
    func threads() async throws {
        let set = QuotaSet(try Self.quotas("team=T1 pushes-per-second=100"))
        let quotas = try #require(set.quotas(of: try Self.topic("a"), "T1"))
        let taken = await withTaskGroup(of: Int.self) { group in
            for _ in 0..<4 {
                group.addTask { (0..<1000).count { _ in quotas.takePush(payloadBytes: 1, now: 0) == nil } }
            }
            return await group.reduce(0, +)
        }
        #expect(taken == 1000)
        #expect(set.all.map { $0.refusals(.pushesPerSecond) } == [3000])
    }
}

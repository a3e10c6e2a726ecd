import PostriderNotifications
import Testing

@testable import PostriderRelay

@Suite("Two machines with one identity")
struct CloneWatchTests {
    private typealias Party = CloneWatch.Party

    /// Returns the verdicts on consecutive connections, each of which begins while an earlier one is open. A
    /// connection that is turned away does not take the earlier one's place.
    private func verdicts(_ parties: [Party], secondsBetween: Int64 = 10) -> (
        verdicts: [CloneWatch.Verdict], watch: CloneWatch
    ) {
        var watch = CloneWatch()
        var holding = parties[0]
        var verdicts: [CloneWatch.Verdict] = []
        for (index, party) in parties.enumerated().dropFirst() {
            let now = Moment(milliseconds: Int64(index) * secondsBetween * 1000)
            verdicts.append(watch.judge(party, beside: holding, at: now))
            if verdicts.last == .replaces { holding = party }
        }
        return (verdicts, watch)
    }

    @Test("are told when a process comes back that another one has replaced", .bug(id: "A9"))
    func clones() {
        let (one, other) = (Party(instance: 1, address: "10.0.0.1"), Party(instance: 2, address: "10.0.0.2"))
        let (verdicts, watch) = verdicts([one, other, one, one])
        #expect(verdicts == [.replaces, .isTurnedAway, .isTurnedAway])
        #expect(watch.duplicate?.addresses == ["10.0.0.2", "10.0.0.1"])
    }

    @Test("are told behind one address, too", .bug(id: "A9"))
    func sameAddress() {
        let (one, other) = (Party(instance: 1, address: "10.0.0.1"), Party(instance: 2, address: "10.0.0.1"))
        #expect(verdicts([one, other, one]).verdicts == [.replaces, .isTurnedAway])
    }

    @Test("are not one device that roams, or starts again and again", .bug(id: "A9"))
    func oneDevice() {
        let commuting = (0..<20).map { Party(instance: 1, address: "10.0.0.\($0 % 2)") }
        let travelling = (0..<20).map { Party(instance: 1, address: "10.0.0.\($0)") }
        let restarted = (0..<20).map { Party(instance: UInt64(1 + $0), address: "10.0.0.\($0 % 2)") }
        for (parties, seconds) in [(commuting, 400), (travelling, 10), (restarted, 10)] as [([Party], Int64)]
        {
            let (verdicts, watch) = verdicts(parties, secondsBetween: seconds)
            #expect(!verdicts.contains(.isTurnedAway) && watch.duplicate == nil)
        }
    }

    @Test(
        "that were cloned with their memory are told by their addresses, and nobody is turned away",
        .bug(id: "A9"))
    func clonedMemory() {
        let parties = (0..<6).map { Party(instance: 7, address: "10.0.0.\($0 % 2)") }
        #expect(verdicts(Array(parties.prefix(4))).watch.duplicate == nil)
        let (verdicts, watch) = verdicts(parties)
        #expect(!verdicts.contains(.isTurnedAway))
        #expect(watch.duplicate?.addresses.sorted() == ["10.0.0.0", "10.0.0.1"])
    }

    @Test("of an older version are told after three returns, and nobody is turned away", .bug(id: "A9"))
    func olderVersions() {
        let parties = (0..<6).map { Party(instance: 0, address: "10.0.0.\($0 % 2)") }
        let (_, before) = verdicts(Array(parties.prefix(4)))
        #expect(before.duplicate == nil)
        let (verdicts, watch) = verdicts(parties)
        #expect(!verdicts.contains(.isTurnedAway) && watch.duplicate != nil)
        let (_, slow) = self.verdicts(parties, secondsBetween: 400)
        #expect(slow.duplicate == nil)
    }

    @Test("are told to the log once an hour", .bug(id: "A9"))
    func lines() {
        let (one, other) = (Party(instance: 1, address: "10.0.0.1"), Party(instance: 2, address: "10.0.0.2"))
        var watch = CloneWatch()
        _ = watch.judge(other, beside: one, at: Moment(milliseconds: 0))
        var told: [Int64] = []
        for minute in 1...130 {
            let now = Moment(milliseconds: Int64(minute) * 60_000)
            _ = watch.judge(other, beside: one, at: now)
            _ = watch.judge(one, beside: other, at: now)
            if watch.isNews(at: now) { told.append(Int64(minute)) }
        }
        #expect(told == [1, 61, 121])
    }
}

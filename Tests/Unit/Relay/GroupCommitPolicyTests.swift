import Testing

@testable import PostriderRelay

@Suite("The gathering of a commit")
struct GroupCommitPolicyTests {
    /// Simulates a disk with slow syncs, and providers that keep a number of pushes under way: each is sent again
    /// some time after its answer. All times are in microseconds.
    private struct Disk {
        var gather = GroupCommitPolicy()
        var now: UInt64 = 0
        var arrivals: [UInt64]
        let sync: UInt64
        let back: (Int) -> UInt64?

        init(underWay: Int, sync: UInt64, back: @escaping (Int) -> UInt64?) {
            // The first pushes arrive one after the other.
            arrivals = (0..<underWay).map { UInt64($0) * 10 }
            self.sync = sync
            self.back = back
        }

        private func present(at moment: UInt64) -> Int { arrivals.count { $0 <= moment } }

        /// Makes the next commit. Returns how many pushes share it, and how long the first of them waited for more.
        mutating func commit() -> (count: Int, waited: UInt64)? {
            guard let first = arrivals.min() else { return nil }
            now = max(now, first)
            let began = now
            while let deadline = gather.waits(with: present(at: now), at: now * 1000) {
                let next = arrivals.filter { $0 > now }.min() ?? .max
                now = min(deadline / 1000, next)
            }
            let waited = now - began
            let count = present(at: now)
            gather.begins(with: count)
            arrivals.removeAll { $0 <= now }
            let start = now
            now += sync
            gather.ended(answered: count, early: present(at: now), began: start * 1000, at: now * 1000)
            arrivals += (0..<count).compactMap { number in back(number).map { now + $0 } }
            return (count, waited)
        }

        mutating func commits(_ count: Int) -> [(count: Int, waited: UInt64)] {
            (0..<count).compactMap { _ in commit() }
        }
    }

    @Test("has all that are under way share each commit, where they come back within the time of one")
    func together() {
        var disk = Disk(underWay: 64, sync: 1_000) { 50 + UInt64($0) * 10 }
        let commits = disk.commits(20).dropFirst(4)
        #expect(commits.allSatisfy { $0.count == 64 }, "\(commits)")
        #expect(commits.allSatisfy { $0.waited < 1_000 })
    }

    @Test("never waits where few are under way", arguments: [1, 2, 7])
    func few(_ underWay: Int) {
        var disk = Disk(underWay: underWay, sync: 1_000) { 50 + UInt64($0) * 10 }
        #expect(disk.commits(50).allSatisfy { $0.waited == 0 })
    }

    @Test(
        "waits no longer than the last commit took, nor than the bound",
        arguments: [100, 1_000, 10_000] as [UInt64])
    func bounded(_ sync: UInt64) {
        var disk = Disk(underWay: 64, sync: sync) { $0 % 2 == 0 ? 20 : 60_000 }
        let longest = disk.commits(200).map(\.waited).max()
        #expect(longest == min(sync, GroupCommitPolicy.most / 1000))
    }

    @Test("gives up, and tries seldom, where those who were answered stay away or take longer")
    func futile() {
        // The push with the longest wait precedes all others, which are not back yet.
        var disk = Disk(underWay: 64, sync: 500) { _ in 700 }
        let first = disk.commits(20).count { $0.waited > 0 }
        _ = disk.commits(300)
        let later = disk.commits(650).count { $0.waited > 0 }
        #expect(first >= 3 && (1...12).contains(later), "\(first) of 20, \(later) of 650")
    }

    @Test("waits again once it is of use again")
    func again() {
        var gather = GroupCommitPolicy()
        func commit(of count: Int, early: Int, came: Int, at now: UInt64) -> Bool {
            gather.ended(answered: count, early: early, began: now - 1_000_000, at: now)
            let waits = gather.waits(with: early, at: now) != nil
            gather.begins(with: early + came)
            return waits
        }
        var waits: [Bool] = []
        for number in UInt64(1)...20 {
            waits.append(commit(of: 32, early: 8, came: 0, at: number * 10_000_000))
        }
        #expect(waits.indices.filter { waits[$0] } == [0, 2, 5, 10, 19])
        for number in UInt64(21)...60 {
            waits.append(commit(of: 32, early: 8, came: 32, at: number * 10_000_000))
        }
        #expect(waits.indices.filter { waits[$0] }.dropFirst(5).elementsEqual(36..<60))
    }
}

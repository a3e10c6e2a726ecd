import Foundation
import Testing

@testable import PostriderLoad

@Suite("A look at a process")
struct ProcessProbeTests {
    @Test("finds its ticks behind a name that may hold anything")
    func ticks() {
        let stat = "42 (a) b (c) S 1 2 3 4 5 6 7 8 9 10 1234 56 13 14 20 0"
        #expect(ProcessProbe.ticks(stat: stat)?.user == 1234)
        #expect(ProcessProbe.ticks(stat: stat)?.system == 56)
        #expect(ProcessProbe.ticks(stat: "42 (x) S 1") == nil)
        #expect(ProcessProbe.ticks(stat: "") == nil)
    }

    @Test("finds its memory")
    func memory() {
        #expect(
            ProcessProbe.pss(rollup: "5-7 ---p\nRss:   900 kB\nPss:                 812 kB\nPss_Anon: 3 kB\n")
                == 812)
        #expect(ProcessProbe.pss(rollup: "") == nil)
        #expect(ProcessProbe.resident(statm: "100 25 3 1 0 9 0", pageKiB: 4) == 100)
        #expect(ProcessProbe.resident(statm: "100 25 3 1 0 9 0", pageKiB: 64) == 1600)
    }

    @Test("sees this process, and no process that is not there")
    func real() throws {
        let sight = try #require(ProcessProbe(process: ProcessInfo.processInfo.processIdentifier).look())
        #expect(sight.pssKiB > 0)
        #expect(ProcessProbe(process: .max).look() == nil)
    }
}

@Suite("Time that the host withheld")
struct StolenTimeTests {
    @Test("is that of a processor on average, where the kernel says")
    func seconds() {
        let stat =
            "cpu  1 2 3 4 5 6 7 450 0 0\ncpu0 1 2 3 4 5 6 7 400 0 0\ncpu1 0 0 0 0 0 0 0 50 0 0\nintr 9\n"
        #expect(StolenTime.seconds(stat: stat) == 2.25)
        #expect(StolenTime.seconds(stat: "cpu  1 2 3 4 5 6 7\ncpu0 1 2 3 4 5 6 7\n") == nil)
        #expect(StolenTime.seconds(stat: "cpu  1 2 3 4 5 6 7 8 0 0\n") == nil)
        #expect(StolenTime.seconds(stat: "") == nil)
        #expect(StolenTime.seconds() != nil)
    }
}

@Suite("The run's seconds")
struct LoadTimelineTests {
    private func slice(accepted: UInt64, seconds: Double = 1) -> WorkerSlice {
        var slice = WorkerSlice()
        slice.tally.accepted = accepted
        slice.nanoseconds = UInt64(seconds * 1e9)
        return slice
    }

    @Test("are told when every worker has told its own")
    func workers() {
        var timeline = LoadTimeline(workers: 2)
        let half = timeline.add(slice(accepted: 3), of: 0, at: 1, phase: "a", residentKiB: nil)
        #expect(half == nil)
        let second = timeline.add(slice(accepted: 4), of: 1, at: 1, phase: "a", residentKiB: 7)
        #expect(second?.accepted == 7)
        #expect(second?.serverRSSKiB == 7)
        _ = timeline.add(slice(accepted: 1), of: 0, at: 2, phase: "a", residentKiB: nil)
        #expect(timeline.seconds.count == 1)
    }

    @Test("have the rates of workers added up whose seconds are not quite the same")
    func rates() {
        var timeline = LoadTimeline(workers: 2)
        for accepted in [100, 300] as [UInt64] {
            let early = timeline.add(slice(accepted: accepted), of: 0, at: 1, phase: "a", residentKiB: nil)
            #expect(early == nil)
        }
        let late = slice(accepted: 150, seconds: 1.5)
        let second = timeline.add(late, of: 1, at: 2, phase: "a", residentKiB: nil)
        #expect(second?.accepted == 300)
    }

    @Test("end with their phase, which each worker leaves at its own moment")
    func phases() {
        var timeline = LoadTimeline(workers: 2)
        func tell(_ accepted: UInt64, _ seconds: Double, of worker: Int, _ phase: String, isLast: Bool) {
            var slice = slice(accepted: accepted, seconds: seconds)
            slice.isLast = isLast
            _ = timeline.add(slice, of: worker, at: 1, phase: phase, residentKiB: nil)
        }
        // The first thread has begun another second when this is reported; the second has not.
        tell(100, 1, of: 0, "a", isLast: false)
        tell(10, 0.25, of: 0, "a", isLast: true)
        tell(6, 0.5, of: 0, "b", isLast: true)
        #expect(timeline.seconds.isEmpty)
        tell(130, 1.25, of: 1, "a", isLast: true)
        tell(4, 0.5, of: 1, "b", isLast: true)
        #expect(timeline.seconds.map(\.phase) == ["a", "b"])
        #expect(timeline.seconds.map(\.seconds) == [1.25, 0.5])
        #expect(timeline.seconds.map(\.accepted) == [88 + 104, 12 + 8])
    }

    @Test("show a leak by the slope of the second half")
    func growth() throws {
        var timeline = LoadTimeline(workers: 1)
        for second in 0..<40 {
            // Warm-up: the memory grows fast at first, and then by 3 KiB per second.
            let memory = second < 20 ? second * 1000 : 50_000 + second * 3
            _ = timeline.add(
                slice(accepted: 0), of: 0, at: Double(second), phase: "soak", residentKiB: memory)
        }
        #expect(abs(try #require(timeline.growth(in: "soak")) - 180) < 0.001)
        #expect(timeline.growth(in: "push") == nil)
    }
}

import Foundation
import Testing

@testable import PostriderLoad

@Suite("The report of a load run")
struct ResultTests {
    @Test("shows every phase, what went wrong in it, and the verdict")
    func table() {
        var result = LoadResult.sample
        result.phases[1].refused = ["TooManyRequests": 5, "BadDeviceToken": 7]
        result.verdict.lost = 2
        result.verdict.lostIdentities = ["A", "B"]
        let text = ResultTable.text(result)
        for words in [
            "storm: 100 devices × 1 apps, 1 providers × 1 streams, 1 threads",
            "storm: refused 7 × BadDeviceToken\nstorm: refused 5 × TooManyRequests",
            "lost 2, doubled 0, strayed 0, altered 0", "lost: apns-id A\nlost: apns-id B",
        ] {
            #expect(text.contains(words), "\(text)")
        }
        let lines = text.split(separator: "\n")
        #expect(lines.contains { $0.hasPrefix("before") && $0.contains("10,000") && $0.contains("1,000") })
    }

    @Test("says where the load program itself was too busy to measure, of the processors that it had")
    func saturation() {
        var result = LoadResult.sample
        #expect(!ResultTable.text(result).contains("hardly a moment"))
        result.phases[1].ownCPUSeconds = 9.5
        #expect(LoadMetrics(result)["busy"]?.value == 0.95)
        let text = ResultTable.text(result)
        #expect(text.contains("storm: the load program had hardly a moment to spare (busy 0.95)"))
        #expect(!text.contains("before: the load program"))
        result.processors = 2
        #expect(!ResultTable.text(result).contains("hardly a moment"))
        result.processors = nil
        #expect(LoadMetrics(result)["busy"] == nil, "an earlier run did not say")
    }

    @Test("says where the machine's host withheld its processors")
    func theft() {
        var result = LoadResult.sample
        #expect(LoadMetrics(result)["stolen"] == nil, "nobody said")
        result.phases[0].stolenSeconds = 0.05
        result.phases[1].stolenSeconds = 0.5
        #expect(LoadMetrics(result)["stolen"]?.value == 0.05)
        let text = ResultTable.text(result)
        #expect(text.contains("storm: this machine's host withheld its processors"))
        #expect(text.contains("(stolen 0.05)"))
        #expect(!text.contains("before: this machine's host"), "a two-hundredth is hardly seen")
    }

    @Test("claims nothing of losses where nobody could see them")
    func unseen() {
        var result = LoadResult.sample
        #expect(ResultTable.text(result).contains("lost 0, doubled 0"))
        #expect(ResultPage.html(result).contains("<strong>nothing lost, nothing doubled</strong>"))
        for index in result.phases.indices { result.phases[index].delivered = 0 }
        let text = ResultTable.text(result)
        #expect(!text.contains("lost 0"))
        #expect(text.hasSuffix("what was lost cannot be seen: nothing came to a device of the fleet"))
        #expect(!ResultPage.html(result).contains("nothing lost"))
        result.verdict.lost = 1
        #expect(ResultTable.text(result).contains("lost 1, doubled 0"))
    }

    @Test("says beside what was lost what the relay gave up, most first")
    func losses() {
        var result = LoadResult.sample
        result.relayLosses = ["broadcasts": 1200, "overflow": 3, "expired": 4, "unstorable": 5]
        #expect(!ResultTable.text(result).contains("the relay"), "nothing was lost")
        result.verdict.lost = 1212
        let text = ResultTable.text(result)
        let lines = """
            lost 1212, doubled 0, strayed 0, altered 0
            the relay dropped 1,200 broadcasts: too much waited for their devices already
            the relay dropped 5: unstorable
            the relay counts 4 expired
            the relay dropped 3: too many waited for their app already
            """
        #expect(text.contains(lines), "\(text)")
    }

    @Test("puts columns under each other")
    func columns() {
        #expect(ResultTable.columns([["a", "bb"], ["cc", "d"]]) == ["a   bb", "cc   d"])
    }

    @Test("is read again as it was written")
    func json() throws {
        let data = try JSONEncoder().encode(LoadResult.sample)
        #expect(try JSONDecoder().decode(LoadResult.self, from: data) == .sample)
    }

    @Test("as a page needs nothing from elsewhere, and escapes what strangers wrote")
    func page() {
        var result = LoadResult.sample
        result.phases[0].refused = ["<script>": 1]
        result.timeline = (0..<5).map { second in
            LoadResult.Second(
                at: Double(second), phase: "storm", accepted: 1000, delivered: 900, refused: 0,
                connections: 1, acceptanceP50: 100, acceptanceP99: 2000, serverRSSKiB: 10_000 + second)
        }
        let page = ResultPage.html(result, baseline: .sample)
        #expect(page.hasPrefix("<!doctype html>"))
        #expect(!page.contains("<script"))
        #expect(page.contains("&lt;script&gt;"))
        for word in ["http://", "https://", "url(", "<link", "<img"] { #expect(!page.contains(word)) }
        // The plots show latencies, throughput, latency over time, and memory.
        #expect(page.components(separatedBy: "<svg").count == 5)
        #expect(page.contains("Compared with an earlier run"))
    }

    @Test("as a page shows a run of one second as dots over one mark")
    func dots() {
        var result = LoadResult.sample
        result.timeline = [
            LoadResult.Second(
                at: 1.1, phase: "storm", accepted: 1000, delivered: 0, refused: 0, connections: 0)
        ]
        let plots = ResultPage.html(result).components(separatedBy: "<svg")
        #expect(plots.count == 3)
        #expect(plots.last?.components(separatedBy: ">1.1</text>").count == 2)
        #expect(plots.last?.contains("points=\"76.0,34.0 76.0,34.0\"") == true, "\(plots.last ?? "")")
    }

    @Test("compares figures, and knows which way is better")
    func comparison() throws {
        var earlier = LoadResult.sample
        earlier.phases[1].accepted = 20_000
        earlier.phases[1].acceptance?.p99 = 6000
        earlier.verdict.lost = 1
        earlier.phases[1].connections = 50
        let rows = Comparison(of: .sample, with: earlier).rows
        func row(_ name: String) throws -> Comparison.Row { try #require(rows.first { $0.name == name }) }
        #expect(try row("accepted/s").ratio == 0.5)
        #expect(try row("accepted/s").isBetter == false)
        #expect(try row("accept.p99").ratio == 0.5)
        #expect(try row("accept.p99").isBetter == true)
        #expect(try row("lost").isBetter == true)
        #expect(try row("connections").ratio == 2)
        #expect(try row("connections").isBetter == nil, "links that were lost are made again")
        #expect(try row("lost").ratio == 0)
        #expect(try row("before.accepted").isBetter == nil)
        #expect(!rows.contains { $0.name.hasPrefix("storm.") })
    }

    @Test("compared with one of another scenario, fleet or machine says in what they differ")
    func differences() {
        #expect(Comparison(of: .sample, with: .sample).differences.isEmpty)
        var earlier = LoadResult.sample
        earlier.scenario = "idle"
        earlier.devices += 1
        earlier.machine.processor = "an abacus"
        let comparison = Comparison(of: .sample, with: earlier)
        #expect(comparison.differences.count == 3)
        #expect(comparison.text.hasPrefix("The two differ in their scenario: storm, and idle before."))
    }

    @Test("compared with one whose figures are of something else says of what")
    func otherFigures() {
        var earlier = LoadResult.sample
        earlier.mainPhase = "before"
        earlier.phases[0].delivery = earlier.phases[0].acceptance
        #expect(
            Comparison(of: .sample, with: earlier).differences == [
                "The two differ in the phase that counts: storm, and before before.",
                "The two differ in what p50 and its like are of: answers, and deliveries before.",
            ])
    }

    @Test("has a curve down to its last value", arguments: [1, 10, 1000, 12_345] as [UInt64])
    func curve(_ count: UInt64) {
        let quantiles = LoadResult.Latencies.quantiles(of: count)
        #expect(quantiles.last == 1)
        #expect(zip(quantiles, quantiles.dropFirst()).allSatisfy { $0 < $1 })
        #expect(quantiles.dropLast().allSatisfy { $0 < 1 })
    }
}

@Suite("A tally")
struct LoadTallyTests {
    @Test("knows a hundred reasons, and counts what comes after them as others")
    func reasons() {
        var reasons: [String: UInt64] = [:]
        for number in 1...1000 { reasons.countReason("\(number)") }
        reasons.countReason("100")
        #expect(reasons.count == 101)
        #expect(reasons["100"] == 2 && reasons["101"] == nil && reasons["other"] == 900)
    }

    @Test("of parts is their sum, and what was counted since is the difference")
    func arithmetic() {
        var (left, right) = (LoadTally(), LoadTally())
        left.accepted = 5
        left.refused = ["a": 1, "b": 2]
        right.accepted = 7
        right.refused = ["b": 3]
        right.bytesSent = 9
        var sum = left
        sum.add(right)
        #expect(sum.accepted == 12 && sum.bytesSent == 9)
        #expect(sum.refused == ["a": 1, "b": 5] && sum.refusedCount == 6)
        #expect(sum.since(left) == right)
        #expect(sum.since(sum) == LoadTally())
    }
}

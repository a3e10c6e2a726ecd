import PostriderHTTP2
import PostriderSeededRandom
import Testing

@Suite("A table of streams")
struct StreamTableTests {
    @Test(
        "keeps what a dictionary keeps, whatever numbers a peer chooses",
        arguments: [2, 32, 64, 4096] as [Int32])
    func model(_ step: Int32) {
        var random = SplitMix64(seed: UInt64(step))
        var table = StreamTable<Int32>()
        var model: [Int32: Int32] = [:]
        for turn in 0..<5000 as Range<Int32> {
            let stream = 1 + step * Int32.random(in: 0..<200, using: &random)
            if model[stream] == nil, turn % 1000 < 600 {
                table.add(turn, for: stream)
                model[stream] = turn
            } else {
                #expect(table.remove(stream) == model.removeValue(forKey: stream))
            }
            #expect(table.count == model.count && table.isEmpty == model.isEmpty)
            let other = 1 + 2 * Int32.random(in: 0..<400, using: &random)
            #expect(table[stream] == model[stream] && table[other] == model[other])
        }
        for (stream, element) in model { #expect(table.remove(stream) == element) }
        #expect(table.isEmpty)
    }

    @Test("keeps one that is open for long beside thousands that come and go")
    func longLived() {
        var table = StreamTable<String>()
        table.add("long", for: 1)
        for number in 1..<10_000 as Range<Int32> {
            table.add("short", for: 1 + 2 * number)
            #expect(table[1] == "long" && table[1 + 2 * number] == "short")
            #expect(table.remove(1 + 2 * number) == "short" && table[1 + 2 * number] == nil)
        }
        #expect(table.remove(1) == "long" && table.remove(1) == nil)
    }
}

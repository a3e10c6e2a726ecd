import PostriderSeededRandom
import Testing

@Suite("Numbers at random under a seed")
struct SplitMix64Tests {
    @Test("are those of the published generator")
    func reference() {
        var numbers = SplitMix64(seed: 1_234_567)
        let drawn = (0..<5).map { _ in numbers.next() }
        #expect(
            drawn == [
                6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423,
                4_593_380_528_125_082_431, 16_408_922_859_458_223_821,
            ])
    }

    @Test(
        "begin one number later where the seed is greater by the step", arguments: [0, 1, .max] as [UInt64])
    func later(seed: UInt64) {
        var (numbers, laterNumbers) = (SplitMix64(seed: seed), SplitMix64(seed: seed &+ SplitMix64.step))
        _ = numbers.next()
        for _ in 0..<100 { #expect(numbers.next() == laterNumbers.next()) }
    }
}

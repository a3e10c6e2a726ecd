import PostriderCourier
import PostriderNotifications
import Testing

@Suite struct BackoffTests {
    private func ceilings(_ backoff: inout Backoff, _ count: Int) -> [Int] {
        (0..<count).map { _ in
            backoff.delayMilliseconds(afterLinkUp: 0, retryAfterMilliseconds: 0, random: .max)
        }
    }

    @Test("the ceiling doubles up to the cap")
    func growth() {
        var backoff = Backoff()
        #expect(
            ceilings(&backoff, 10) == [500, 1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000, 60_000])
    }

    @Test("the jitter reaches from nothing to the ceiling")
    func jitter() {
        for (random, delay) in [(0, 0), (UInt64.max / 2, 250), (.max, 500)] {
            var backoff = Backoff()
            #expect(
                backoff.delayMilliseconds(afterLinkUp: 0, retryAfterMilliseconds: 0, random: random) == delay)
        }
    }

    @Test("only a link that was up long enough makes it start again")
    func reset() {
        var backoff = Backoff()
        _ = ceilings(&backoff, 3)
        #expect(
            backoff.delayMilliseconds(afterLinkUp: 29_999, retryAfterMilliseconds: 0, random: .max) == 4000)
        #expect(
            backoff.delayMilliseconds(afterLinkUp: 30_000, retryAfterMilliseconds: 0, random: .max) == 500)
        #expect(ceilings(&backoff, 1) == [1000])
    }

    @Test("links that the relay accepts, but that are short, do not keep a device away for longer and longer")
    func shortLinks() {
        var backoff = Backoff.device
        #expect(ceilings(&backoff, 10).last == 60_000)
        for _ in 1...3 {
            #expect(
                backoff.delayMilliseconds(afterLinkUp: 1, retryAfterMilliseconds: 0, random: .max) == 5000)
        }
        #expect(ceilings(&backoff, 2) == [10_000, 20_000])
        var usual = Backoff()
        _ = ceilings(&usual, 9)
        #expect(usual.delayMilliseconds(afterLinkUp: 1, retryAfterMilliseconds: 0, random: .max) == 60_000)
    }

    @Test("the relay's wish is a floor under the jitter, and bounded by an hour")
    func retryAfter() {
        var backoff = Backoff()
        #expect(backoff.delayMilliseconds(afterLinkUp: 0, retryAfterMilliseconds: 7000, random: 0) == 7000)
        #expect(backoff.delayMilliseconds(afterLinkUp: 0, retryAfterMilliseconds: 7000, random: .max) == 8000)
        #expect(
            backoff.delayMilliseconds(afterLinkUp: 0, retryAfterMilliseconds: .max, random: 0)
                == Limits.retryAfterMilliseconds
        )
    }
}

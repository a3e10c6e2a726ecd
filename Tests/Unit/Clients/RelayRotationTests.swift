import PostriderCourier
import PostriderNotifications
import PostriderTransport
import Testing

@testable import PostriderClients

@Suite("A client whose relay has several addresses")
struct RelayRotationTests {
    /// The rotation with its clock: each wait passes.
    private struct Fixture {
        var rotation: RelayRotation
        var now: UInt64 = 1_000_000_000

        init(of count: Int) {
            rotation = RelayRotation(of: count, Backoff(baseMilliseconds: 1000, capMilliseconds: 8000))
        }

        /// Ends the attempt or the link, waits as long as the rotation says, and returns the next address.
        mutating func end(_ end: LinkEnd = .connection(.peerReset), up: Int = 0) -> Int? {
            if up > 0 { rotation.welcomed() }
            now += UInt64(up) * 1_000_000
            let wait = rotation.ended(end, upMilliseconds: up, now: now, random: .max)
            guard let wait else { return nil }
            now += UInt64(wait) * 1_000_000
            return rotation.current
        }
    }

    private func goodbye(_ reason: Goodbye.Reason, retryAfterMilliseconds: UInt32 = 0) -> LinkEnd {
        .goodbye(Goodbye(reason: reason, retryAfterMilliseconds: retryAfterMilliseconds, detail: ""))
    }

    private let unknown = LinkEnd.status(.unauthenticated, "")

    @Test("tries them in their order, and then each one when its own back-off is over")
    func order() {
        var fixture = Fixture(of: 3)
        // The pauses of 0.5 s at each turn make the first back-off, of 1 s, end with the third failure.
        #expect((0..<5).map { _ in fixture.end() } == [1, 2, 0, 1, 2])
        let before = fixture.now
        // The first one has failed twice: its back-off was 2 s.
        #expect(fixture.end() == 0 && fixture.now > before)
    }

    @Test("waits with growing pauses when all have failed, as with a single address")
    func backoff() {
        var (single, pauses) = (Fixture(of: 1), [UInt64]())
        for _ in 0..<5 {
            let before = single.now
            #expect(single.end() == 0)
            pauses.append((single.now - before) / 1_000_000_000)
        }
        #expect(pauses == [1, 2, 4, 8, 8])
        var fixture = Fixture(of: 2)
        let attempts = (0..<40).compactMap { _ in fixture.end() }
        // With 8 s for each address at most, and 0.5 s at each turn, the two cannot take less.
        #expect(attempts.count == 40 && attempts.contains(0) && attempts.contains(1))
        #expect(fixture.now > 40 / 2 * 6 * 1_000_000_000)
    }

    @Test("stays with the address of a link that was up, and returns to the preferred one with the next link")
    func preference() {
        var fixture = Fixture(of: 3)
        #expect(fixture.end(up: 60_000) == 0)
        #expect(fixture.end() == 1)
        // The preferred address has failed just now.
        #expect(fixture.end(up: 1) == 1)
        #expect(fixture.end(up: 60_000) == 0)
        #expect(fixture.end() == 1)
    }

    @Test("does not escape to another address from what the relay asks for")
    func asked() {
        var fixture = Fixture(of: 2)
        for end in [goodbye(.overloaded, retryAfterMilliseconds: 5000), goodbye(.replaced)] {
            let before = fixture.now
            #expect(fixture.end(end) == 0)
            #expect(fixture.now - before >= 5_000_000_000)
        }
        #expect(fixture.end(goodbye(.shutdown)) == 1)
    }

    @Test("gives up only when none of them knows the device")
    func identity() {
        var fixture = Fixture(of: 2)
        #expect(fixture.end(unknown) == 1)
        let before = fixture.now
        // The second address does not answer: it is tried again before the first one, which knows nothing.
        #expect(fixture.end() == 1 && fixture.now - before < 60_000_000_000)
        #expect(fixture.end(unknown) == nil)
        fixture.rotation.restart()
        #expect(fixture.rotation.current == 0 && fixture.end(unknown) == 1)
        #expect(fixture.end(up: 60_000) == 0)
        #expect(fixture.end(unknown) == 1 && fixture.end(unknown) == nil)
        var single = Fixture(of: 1)
        #expect(single.end(unknown) == nil)
    }
}

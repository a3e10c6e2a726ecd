import PostriderNotifications
import RelayFixtures
import Testing

@testable import PostriderRelay

@Suite("The bounds of enrolment keys")
struct EnrolmentUsesTests {
    private func key(
        uses: Int? = nil, used: Int = 0, endsAt: Moment? = nil, names: String? = nil
    ) -> EnrolmentKeyRecord {
        EnrolmentKeyRecord(
            name: "tour", digest: [1], addedAt: Samples.now, endsAt: endsAt, uses: uses, used: used,
            namePattern: names)
    }

    @Test("count what was used before the relay's start, and what was given back")
    func counts() {
        let key = key(uses: 3, used: 2)
        let uses = EnrolmentUses([key])
        #expect(uses.take(of: key) && !uses.take(of: key))
        uses.giveBack(key.digest)
        #expect(uses.count(of: key.digest) == 2 && uses.take(of: key) && !uses.take(of: key))
        uses.forget(key)
        #expect(uses.count(of: key.digest) == 0)
    }

    @Test("are known from other nodes, and never fewer than were taken here")
    func elsewhere() {
        let key = key(uses: 3)
        let uses = EnrolmentUses([key])
        #expect(uses.take(of: key))
        var known = key
        known.used = 2
        uses.learn([known])
        #expect(uses.count(of: key.digest) == 2 && uses.take(of: key) && !uses.take(of: key))
        known.used = 1
        uses.learn([known])
        #expect(uses.count(of: key.digest) == 3)
        uses.giveBack(key.digest)
        uses.useUp(key)
        #expect(uses.count(of: key.digest) == 3 && !uses.take(of: key))
    }

    @Test("give a use back if the device cannot be stored")
    func notStored() throws {
        let uses = EnrolmentUses([])
        let key = key(uses: 1)
        #expect(uses.take(of: key))
        uses.giveBack(key.digest)
        #expect(uses.take(of: key))
    }

    @Test(
        "match names by a pattern",
        arguments: [
            ("kiosk-*", "kiosk-7", true), ("kiosk-*", "kiosk-", true), ("kiosk-*", "a kiosk-7", false),
            ("*", "", true), ("lobby", "lobby", true), ("lobby", "lobby2", false),
            ("*-east-*", "a-east-1", true),
            ("*-east-*", "a-west-1", false), ("a*a", "a", false), ("a*a", "aa", true), ("*a*b", "xaxb", true),
        ])
    func names(_ pattern: String, _ name: String, _ isPermitted: Bool) {
        #expect(key(names: pattern).permits(name: name) == isPermitted)
    }

    @Test("are warned of once when they are near, and once when they are reached")
    func warnings() {
        let lines = LoggedLines()
        var warnings = EnrolmentKeyWarnings()
        let day: Int64 = 86_400_000
        let ending = key(endsAt: Samples.now.advanced(byMilliseconds: 10 * day))
        let uses = EnrolmentUses([ending])
        for days in [0, 4, 5, 10, 11] as [Int64] {
            warnings.look(
                at: [ending], uses, now: Samples.now.advanced(byMilliseconds: days * day), lines.log)
        }
        let texts = lines.all.map(\.text)
        #expect(
            texts == [
                "the enrolment key tour ends in 6 days",
                "no device can enrol with the enrolment key tour any more",
            ])
        let counted = key(uses: 20, used: 18)
        let counts = EnrolmentUses([counted])
        var others = EnrolmentKeyWarnings()
        others.look(at: [counted], counts, now: Samples.now, lines.log)
        others.look(at: [counted], counts, now: Samples.now, lines.log)
        #expect(lines.all.dropFirst(2).map(\.text) == ["the enrolment key tour ends after 2 more devices"])
    }
}

import PostriderNotifications
import Testing

@testable import PostriderLoad

/// A tracker of pushes with its judge. It is a class because an expectation cannot contain a mutating call of a
/// value.
private final class Desk {
    var book = PushTracker()
    var judge: DuplicateClassifier

    init(window: Int = 3) { judge = DuplicateClassifier(window: window) }

    func send(to device: Int, _ expectation: PushTracker.Expectation) -> UInt64 {
        book.send(to: device, at: UInt64(device) * 10, expectation)
    }
    func arrived(_ number: UInt64, at device: Int) -> PushTracker.Arrival { book.arrived(number, at: device) }
    func allows(copyOf number: UInt64) -> Bool { judge.allows(copyOf: number) }
    func lost() -> Int { book.lost(naming: 3).count }
}

@Suite("The book of pushes")
struct PushTrackerTests {
    private static let present = PushTracker.Expectation(isPresent: true, isStored: true)
    private static let absent = PushTracker.Expectation(isPresent: false, isStored: true)
    private static let nobody = PushTracker.Expectation(isPresent: false, isStored: false)
    private static let fleeting = PushTracker.Expectation(isPresent: true, isStored: false)

    /// The events of one push, in order.
    enum Event { case accepted, refused, unanswered, arrived }

    @Test(
        "knows what is under way, what is missing and what is lost, whatever comes first",
        arguments: [
            (present, [], 1, 1, 0, 0), (present, [.accepted], 0, 1, 1, 1), (present, [.arrived], 1, 1, 0, 0),
            (present, [.accepted, .arrived], 0, 0, 0, 0), (present, [.arrived, .accepted], 0, 0, 0, 0),
            (present, [.refused], 0, 0, 0, 0), (present, [.unanswered], 0, 0, 0, 0),
            (present, [.unanswered, .arrived], 0, 0, 0, 0), (present, [.arrived, .unanswered], 0, 0, 0, 0),
            (nobody, [.arrived, .accepted], 0, 0, 0, 0), (absent, [.accepted], 0, 0, 1, 1),
            (absent, [.accepted, .arrived], 0, 0, 0, 0), (nobody, [.accepted], 0, 0, 0, 0),
            (nobody, [.accepted, .arrived], 0, 0, 0, 0), (fleeting, [.accepted], 0, 1, 1, 1),
        ] as [(PushTracker.Expectation, [Event], Int, Int, Int, Int)])
    func states(
        _ expectation: PushTracker.Expectation, _ events: [Event], _ open: Int, _ underWay: Int,
        _ missing: Int,
        _ lost: Int
    ) {
        let desk = Desk()
        let number = desk.send(to: 7, expectation)
        for event in events {
            switch event {
            case .accepted: desk.book.accepted(number)
            case .refused: desk.book.refused(number)
            case .unanswered: desk.book.unanswered(number)
            case .arrived: #expect(desk.arrived(number, at: 7) == .first)
            }
        }
        #expect(desk.book.open == open)
        #expect(desk.book.underWay == underWay)
        #expect(desk.book.missingCount == missing)
        #expect(desk.lost() == lost)
        #expect(desk.book.moment(of: number) == 70)
        guard open == 0 else { return }
        func count(_ event: Event) -> Int { events.contains(event) ? 1 : 0 }
        #expect(
            count(.accepted) + desk.book.unansweredArrivals == count(.arrived) + lost + desk.book.excusedCount
        )
    }

    @Test("names what was lost")
    func names() {
        let desk = Desk()
        for device in 0..<6 {
            let number = desk.send(to: device, Self.present)
            desk.book.accepted(number)
            if device < 2 { #expect(desk.arrived(number, at: device) == .first) }
        }
        let lost = desk.book.lost(naming: 3)
        #expect(lost.count == 4)
        #expect(lost.first.map(\.number) == [2, 3, 4])
        #expect(lost.first.map(\.moment) == [20, 30, 40])
    }

    @Test("excuses what was now or never when its device's link has ended, and nothing else")
    func excuse() {
        for (expectation, count) in [(Self.fleeting, 0), (Self.present, 2)] {
            let desk = Desk()
            let numbers = (0..<3).map { _ in desk.send(to: 4, expectation) }
            desk.book.accepted(numbers[0])
            desk.book.excuse { device, moment in device != 4 || moment != 40 }
            #expect(desk.lost() == 1 && desk.book.missingCount == 1)
            // The first push was answered before the link ended, the second afterwards.
            desk.book.excuse { device, moment in device == 4 && moment == 40 }
            desk.book.excuse { _, _ in true }
            desk.book.accepted(numbers[1])
            #expect(desk.lost() == count && desk.book.missingCount == count)
            #expect(desk.book.underWay == 1 + count && desk.book.open == 1)
            #expect(desk.book.excusedCount == 2 - count)
            #expect(desk.arrived(numbers[0], at: 4) == .first)
            #expect(desk.arrived(numbers[2], at: 4) == .first)
            desk.book.accepted(numbers[2])
            #expect(desk.arrived(numbers[0], at: 4) == .copy)
            #expect(desk.book.open == 0)
            // All pushes but the second have arrived.
            #expect(desk.book.excusedCount + desk.lost() == 1)
        }
    }

    @Test("forgets what was excused, and cannot know whether it comes twice")
    func excusedPage() {
        let desk = Desk()
        for _ in 0..<65_536 { desk.book.accepted(desk.send(to: 0, Self.fleeting)) }
        #expect(desk.book.pagesInMemory == 1)
        desk.book.excuse { _, _ in true }
        #expect(desk.book.pagesInMemory == 0 && desk.book.underWay == 0)
        #expect(desk.arrived(9, at: 0) == .first)
    }

    @Test("tells copies, and what came to the wrong device, was refused or was never sent")
    func copies() {
        let desk = Desk()
        let number = desk.send(to: 3, Self.present)
        let refused = desk.send(to: 3, Self.present)
        desk.book.refused(refused)
        #expect(desk.arrived(number, at: 4) == .stray)
        #expect(desk.arrived(number, at: -1) == .stray)
        #expect(desk.arrived(number, at: 3) == .first)
        #expect(desk.arrived(number, at: 3) == .copy)
        desk.book.accepted(number)
        #expect(desk.arrived(number, at: 3) == .copy)
        #expect(desk.arrived(refused, at: 3) == .stray)
        #expect(desk.arrived(2, at: 3) == .stray)
    }

    @Test("forgets what is done with, and tells a copy of it all the same")
    func forgetting() {
        let desk = Desk()
        for number in 0..<200_000 as Range<UInt64> {
            #expect(desk.send(to: 0, Self.present) == number)
            desk.book.accepted(number)
            if number != 70_000 { _ = desk.arrived(number, at: 0) }
        }
        // Pages in memory: the one with the missing push, and the last one, which is not full.
        #expect(desk.book.pagesInMemory == 2)
        #expect(desk.arrived(5, at: 0) == .copy)
        #expect(desk.lost() == 1)
        #expect(desk.arrived(70_000, at: 0) == .first)
        #expect(desk.book.pagesInMemory == 1)
        #expect(desk.lost() == 0)
    }

    @Test("does not call a copy what it cannot know any more")
    func doubt() {
        let desk = Desk()
        for _ in 0..<65_536 { desk.book.accepted(desk.send(to: 0, Self.nobody)) }
        #expect(desk.book.pagesInMemory == 0)
        #expect(desk.arrived(9, at: 0) == .first)
    }

    @Test("keeps what was not answered until it has arrived")
    func unanswered() {
        let desk = Desk()
        for number in 0..<65_536 as Range<UInt64> {
            _ = desk.send(to: 0, Self.present)
            if number == 1 { desk.book.unanswered(number) } else { desk.book.refused(number) }
        }
        #expect(desk.book.pagesInMemory == 1)
        #expect(desk.arrived(1, at: 0) == .first)
        #expect(desk.book.pagesInMemory == 0)
    }
}

@Suite("The judge of copies")
struct DuplicateClassifierTests {
    @Test("allows one copy of what came last over a link that was cut")
    func cut() {
        let desk = Desk(window: 3)
        for number in 0..<5 as Range<UInt64> { desk.judge.arrived(number) }
        #expect(!desk.allows(copyOf: 4))
        desk.judge.linkEnded(isOrderly: false)
        #expect(!desk.allows(copyOf: 1))
        #expect(desk.allows(copyOf: 2))
        #expect(!desk.allows(copyOf: 2))
        #expect(desk.allows(copyOf: 4))
    }

    @Test("allows none after an orderly end")
    func orderly() {
        let desk = Desk(window: 3)
        desk.judge.arrived(1)
        desk.judge.linkEnded(isOrderly: true)
        #expect(!desk.allows(copyOf: 1))
    }

    @Test("remembers over links that were too short to settle anything")
    func shortLinks() {
        let desk = Desk(window: 2)
        for number in [1, 2] as [UInt64] { desk.judge.arrived(number) }
        desk.judge.linkEnded(isOrderly: false)
        desk.judge.linkEnded(isOrderly: false)
        #expect(desk.allows(copyOf: 1))
        desk.judge.arrived(1)
        for number in [3, 4] as [UInt64] { desk.judge.arrived(number) }
        desk.judge.linkEnded(isOrderly: true)
        #expect(!desk.allows(copyOf: 2))
    }
}

@Suite("The mark of a push")
struct PushMarkTests {
    @Test(
        "is read as it was written, and is a UUID of version 4 to others",
        arguments: [
            PushMark(moment: 0, run: 0, device: 0, number: 0),
            PushMark(moment: 123_456_789_012, run: 0xABC, device: 14_999, number: 9_876_543_210),
            PushMark(moment: 1 << 48 - 1, run: 0xFFF, device: PushMark.everybody, number: 1 << 40 - 1),
        ])
    func roundTrip(_ mark: PushMark) {
        var text = [UInt8](repeating: 0, count: 36)
        mark.write(into: &text)
        #expect(PushMark(mark.identity) == mark)
        #expect(text == mark.identity.lowerCaseText)
        #expect(text[14] == UInt8(ascii: "4"))
        #expect("89ab".utf8.contains(text[19]))
    }

    @Test("says how old it is, in a run that goes on for weeks as well", arguments: ages)
    func age(_ moment: UInt64, _ now: UInt64, _ expected: UInt64) throws {
        let mark = PushMark(moment: moment, run: 1, device: 2, number: 3)
        #expect(try #require(PushMark(mark.identity)).age(at: now) == expected)
    }

    /// One day in nanoseconds.
    private static let day: UInt64 = 86_400_000_000_000
    /// The time of a push, a later time, and the age between them.
    static let ages: [(UInt64, UInt64, UInt64)] = [
        (0, 0, 0), (5, 1_005, 1_000), (0, 3 * day, 3 * day), (3 * day, 4 * day, day),
        (30 * day, 30 * day + 7, 7), (30 * day + 7, 30 * day, 0), (1 << 48 - 1, 1 << 48 + 1, 2),
    ]
}

import PostriderNotifications
import Testing

@testable import PostriderLoad

/// A tracker of pushes with its judge. It is a class because an expectation cannot contain a mutating call of a
/// value.
private final class Sender {
    var tracker = PushTracker()
    var judge: DuplicateClassifier

    init(window: Int = 3) { judge = DuplicateClassifier(window: window) }

    func send(to device: Int, _ expectation: PushTracker.Expectation) -> UInt64 {
        tracker.send(to: device, at: UInt64(device) * 10, expectation)
    }
    func arrived(_ number: UInt64, at device: Int) -> PushTracker.Arrival {
        tracker.arrived(number, at: device)
    }
    func allows(copyOf number: UInt64) -> Bool { judge.allows(copyOf: number) }
    func lost() -> Int { tracker.lost(naming: 3).count }
}

@Suite("The tracker of pushes")
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
        let sender = Sender()
        let number = sender.send(to: 7, expectation)
        for event in events {
            switch event {
            case .accepted: sender.tracker.accepted(number)
            case .refused: sender.tracker.refused(number)
            case .unanswered: sender.tracker.unanswered(number)
            case .arrived: #expect(sender.arrived(number, at: 7) == .first)
            }
        }
        #expect(sender.tracker.open == open)
        #expect(sender.tracker.underWay == underWay)
        #expect(sender.tracker.missingCount == missing)
        #expect(sender.lost() == lost)
        #expect(sender.tracker.moment(of: number) == 70)
        guard open == 0 else { return }
        func count(_ event: Event) -> Int { events.contains(event) ? 1 : 0 }
        #expect(
            count(.accepted) + sender.tracker.unansweredArrivals == count(.arrived) + lost
                + sender.tracker.excusedCount
        )
    }

    @Test("names what was lost")
    func names() {
        let sender = Sender()
        for device in 0..<6 {
            let number = sender.send(to: device, Self.present)
            sender.tracker.accepted(number)
            if device < 2 { #expect(sender.arrived(number, at: device) == .first) }
        }
        let lost = sender.tracker.lost(naming: 3)
        #expect(lost.count == 4)
        #expect(lost.first.map(\.number) == [2, 3, 4])
        #expect(lost.first.map(\.moment) == [20, 30, 40])
    }

    @Test("excuses what was now or never when its device's link has ended, and nothing else")
    func excuse() {
        for (expectation, count) in [(Self.fleeting, 0), (Self.present, 2)] {
            let sender = Sender()
            let numbers = (0..<3).map { _ in sender.send(to: 4, expectation) }
            sender.tracker.accepted(numbers[0])
            sender.tracker.excuse { device, moment in device != 4 || moment != 40 }
            #expect(sender.lost() == 1 && sender.tracker.missingCount == 1)
            // The first push was answered before the link ended, the second afterwards.
            sender.tracker.excuse { device, moment in device == 4 && moment == 40 }
            sender.tracker.excuse { _, _ in true }
            sender.tracker.accepted(numbers[1])
            #expect(sender.lost() == count && sender.tracker.missingCount == count)
            #expect(sender.tracker.underWay == 1 + count && sender.tracker.open == 1)
            #expect(sender.tracker.excusedCount == 2 - count)
            #expect(sender.arrived(numbers[0], at: 4) == .first)
            #expect(sender.arrived(numbers[2], at: 4) == .first)
            sender.tracker.accepted(numbers[2])
            #expect(sender.arrived(numbers[0], at: 4) == .copy)
            #expect(sender.tracker.open == 0)
            // All pushes but the second have arrived.
            #expect(sender.tracker.excusedCount + sender.lost() == 1)
        }
    }

    @Test("forgets what was excused, and cannot know whether it comes twice")
    func excusedPage() {
        let sender = Sender()
        for _ in 0..<65_536 { sender.tracker.accepted(sender.send(to: 0, Self.fleeting)) }
        #expect(sender.tracker.pagesInMemory == 1)
        sender.tracker.excuse { _, _ in true }
        #expect(sender.tracker.pagesInMemory == 0 && sender.tracker.underWay == 0)
        #expect(sender.arrived(9, at: 0) == .first)
    }

    @Test("tells copies, and what came to the wrong device, was refused or was never sent")
    func copies() {
        let sender = Sender()
        let number = sender.send(to: 3, Self.present)
        let refused = sender.send(to: 3, Self.present)
        sender.tracker.refused(refused)
        #expect(sender.arrived(number, at: 4) == .stray)
        #expect(sender.arrived(number, at: -1) == .stray)
        #expect(sender.arrived(number, at: 3) == .first)
        #expect(sender.arrived(number, at: 3) == .copy)
        sender.tracker.accepted(number)
        #expect(sender.arrived(number, at: 3) == .copy)
        #expect(sender.arrived(refused, at: 3) == .stray)
        #expect(sender.arrived(2, at: 3) == .stray)
    }

    @Test("forgets what is done with, and tells a copy of it all the same")
    func forgetting() {
        let sender = Sender()
        for number in 0..<200_000 as Range<UInt64> {
            #expect(sender.send(to: 0, Self.present) == number)
            sender.tracker.accepted(number)
            if number != 70_000 { _ = sender.arrived(number, at: 0) }
        }
        // Pages in memory: the one with the missing push, and the last one, which is not full.
        #expect(sender.tracker.pagesInMemory == 2)
        #expect(sender.arrived(5, at: 0) == .copy)
        #expect(sender.lost() == 1)
        #expect(sender.arrived(70_000, at: 0) == .first)
        #expect(sender.tracker.pagesInMemory == 1)
        #expect(sender.lost() == 0)
    }

    @Test("does not call a copy what it cannot know any more")
    func doubt() {
        let sender = Sender()
        for _ in 0..<65_536 { sender.tracker.accepted(sender.send(to: 0, Self.nobody)) }
        #expect(sender.tracker.pagesInMemory == 0)
        #expect(sender.arrived(9, at: 0) == .first)
    }

    @Test("keeps what was not answered until it has arrived")
    func unanswered() {
        let sender = Sender()
        for number in 0..<65_536 as Range<UInt64> {
            _ = sender.send(to: 0, Self.present)
            if number == 1 { sender.tracker.unanswered(number) } else { sender.tracker.refused(number) }
        }
        #expect(sender.tracker.pagesInMemory == 1)
        #expect(sender.arrived(1, at: 0) == .first)
        #expect(sender.tracker.pagesInMemory == 0)
    }
}

@Suite("The judge of copies")
struct DuplicateClassifierTests {
    @Test("allows one copy of what came last over a link that was cut")
    func cut() {
        let sender = Sender(window: 3)
        for number in 0..<5 as Range<UInt64> { sender.judge.arrived(number) }
        #expect(!sender.allows(copyOf: 4))
        sender.judge.linkEnded(isOrderly: false)
        #expect(!sender.allows(copyOf: 1))
        #expect(sender.allows(copyOf: 2))
        #expect(!sender.allows(copyOf: 2))
        #expect(sender.allows(copyOf: 4))
    }

    @Test("allows none after an orderly end")
    func orderly() {
        let sender = Sender(window: 3)
        sender.judge.arrived(1)
        sender.judge.linkEnded(isOrderly: true)
        #expect(!sender.allows(copyOf: 1))
    }

    @Test("remembers over links that were too short to settle anything")
    func shortLinks() {
        let sender = Sender(window: 2)
        for number in [1, 2] as [UInt64] { sender.judge.arrived(number) }
        sender.judge.linkEnded(isOrderly: false)
        sender.judge.linkEnded(isOrderly: false)
        #expect(sender.allows(copyOf: 1))
        sender.judge.arrived(1)
        for number in [3, 4] as [UInt64] { sender.judge.arrived(number) }
        sender.judge.linkEnded(isOrderly: true)
        #expect(!sender.allows(copyOf: 2))
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

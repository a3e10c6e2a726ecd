import PostriderCourier
import PostriderNotifications
import RelayFixtures
import Testing

@testable import PostriderDeviceQueue

@Suite("What is held back for a device")
struct DeviceReceptionTests {
    private var fixture = QueueFixture()
    private let saving = Reception(savesPower: true)

    /// Returns the numbers of the sent notifications.
    private func sent(_ effects: [String]) -> [Int] {
        effects.filter { $0.hasPrefix("send ") }.compactMap {
            $0.split(separator: "n").last.flatMap { Int($0) }
        }
    }

    /// Offers a push that is stored at once, and returns what is sent.
    private mutating func push(
        _ number: Int64, _ priority: Priority = .immediate,
        to registration: RegistrationNumber = Samples.first,
        collapse: String? = nil
    ) -> [Int] {
        let effects = fixture.offer(priority: priority, collapse: collapse, to: registration)
        _ = fixture.committed(number)
        return sent(effects)
    }

    @Test("is nothing but the lowest priority, where a device has said nothing")
    mutating func usual() {
        _ = fixture.connect()
        #expect(push(1) == [1] && push(2, .considerate) == [2])
        #expect(push(3, .low) == [] && push(4, .low) == [])
        #expect(push(5) == [5, 3, 4], "what is at once brings the others, in their order")
        #expect(push(6, .low) == [])
        #expect(sent(fixture.fetch()) == [6])
        #expect(sent(fixture.fetch()) == [])
    }

    @Test("comes with the next link, whatever it is")
    mutating func nextLink() {
        _ = fixture.connect(by: saving)
        #expect(push(1, .low) == [] && push(2, .considerate) == [])
        #expect(fixture.disconnect() == [])
        #expect(push(3, .low) == [])
        #expect(fixture.connect(by: saving) == ["load r1,r2,r3"])
        #expect(sent(fixture.load(1...3)) == [1, 2, 3])
    }

    @Test("comes in groups where a device saves power, at the latest when the first has waited for long")
    mutating func groups() {
        _ = fixture.connect(by: saving)
        #expect(push(1, .considerate) == [])
        fixture.now = fixture.now.advanced(byMilliseconds: 30_000)
        #expect(push(2, .low) == [] && push(3, .considerate) == [])
        let due = Samples.now.advanced(byMilliseconds: Limits.groupMilliseconds)
        #expect(
            !fixture.device.isGroupDue(at: due.advanced(byMilliseconds: -1))
                && fixture.device.isGroupDue(at: due))
        #expect(
            fixture.device.isGroupDue(at: Samples.now.advanced(byMilliseconds: -1)), "the clock was put back")
        #expect(sent(fixture.fetch()) == [1, 2, 3])
        #expect(!fixture.device.isGroupDue(at: due))
        #expect(push(4, .low) == [])
        #expect(
            !fixture.device.isGroupDue(at: due.advanced(byMilliseconds: 1_000_000)),
            "low ones wait for others only")
        #expect(push(5) == [5, 4])
    }

    @Test("comes when the device saves power no longer")
    mutating func endOfSaving() {
        _ = fixture.connect(by: saving)
        for number in 1...3 { _ = push(Int64(number), number == 2 ? .low : .considerate) }
        #expect(sent(fixture.receive(by: .usual)) == [1, 3, 2])
        #expect(push(4, .considerate) == [4])
    }

    @Test("is what is for an ignored topic, until it is not ignored any more")
    mutating func ignored() {
        _ = fixture.connect(by: Reception(ignored: [Samples.otherTopic.text, "not/a topic"]))
        #expect(
            push(1, to: Samples.second) == [] && push(2) == [2] && push(3, .low, to: Samples.second) == [])
        #expect(sent(fixture.fetch()) == [])
        #expect(fixture.acknowledge(1) == ["settle r2"])
        #expect(sent(fixture.receive(by: Reception(opportunistic: [Samples.otherTopic.text]))) == [1, 3])
        #expect(push(4, to: Samples.second) == [] && push(5) == [5, 4])
        #expect(fixture.device.pendingCount == 4)
    }

    @Test("obeys a registration that is made while its topic is ignored")
    mutating func laterRegistration() {
        let topic = Samples.named("com.example.third")
        _ = fixture.connect(by: Reception(ignored: [topic.text]))
        let number = RegistrationNumber(3)
        _ = fixture.apply(Samples.registration(number, of: topic))
        let notification = Samples.notification(1, to: number, topic: topic)
        #expect(sent(fixture.offer(notification)) == [])
        #expect(sent(fixture.receive(by: .usual)) == [1])
    }

    @Test("is discarded where it is now or never, unless it has only to wait for its group")
    mutating func nowOrNever() {
        _ = fixture.connect(by: Reception(savesPower: true, opportunistic: [Samples.otherTopic.text]))
        #expect(fixture.offer(priority: .low, nowOrNever: true) == ["200 s1"])
        #expect(fixture.offer(nowOrNever: true, to: Samples.second) == ["200 s2"])
        #expect(fixture.tally.discarded == 2)
        #expect(fixture.offer(priority: .considerate, nowOrNever: true) == ["200 s3", "send 1 n3"])
        _ = fixture.receive(by: Reception(ignored: [Samples.topic.text]))
        #expect(fixture.offer(nowOrNever: true) == ["200 s4"])
        #expect(fixture.tally.discarded == 3)
    }

    @Test("is not sent after its expiration, and makes way for a newer one of its slot")
    mutating func expiry() {
        _ = fixture.connect()
        _ = fixture.offer(priority: .low, lifetime: 1000)
        #expect(push(2, .low, collapse: "c") == [] && push(3, .low, collapse: "c") == [])
        fixture.now = fixture.now.advanced(byMilliseconds: 1000)
        #expect(sent(fixture.fetch()) == [3])
        #expect(fixture.tally.expired == 1 && fixture.tally.replaced == 1)
    }

    @Test("is fetched from the disk when there is much of it, a window at a time")
    mutating func much() {
        _ = fixture.connect()
        let count = Int64(Limits.deliveryWindow * 4 + 10)
        for number in 1...count { #expect(push(number, .low) == []) }
        #expect(sent(fixture.fetch()) == Array(1...64))
        var next: UInt64 = 1
        while next < UInt64(count) {
            let effects = fixture.acknowledge(next)
            if effects.contains(where: { $0.hasPrefix("load") }) { _ = fixture.load(257...count) }
            next += 1
        }
        #expect(fixture.device.pendingCount == 1)
    }

    @Test("keeps the order of acceptance within a priority while more comes than the window holds")
    mutating func order() {
        _ = fixture.connect(by: saving)
        var all: [Int] = []
        for number in 1...200 { all += push(Int64(number), number.isMultiple(of: 3) ? .low : .considerate) }
        all += push(201)
        for delivery in 1...201 as ClosedRange<UInt64> {
            all += sent(fixture.acknowledge(delivery))
            if delivery == 20 { all += push(202, .considerate) + push(203, .low) }
            if delivery == 30 { all += push(204) }
        }
        #expect(all.count == 204 && all.first == 201)
        let low = { (number: Int) in number.isMultiple(of: 3) && number <= 200 || number == 203 }
        #expect(all.filter(low) == all.filter(low).sorted())
        let considerate = all.filter { !low($0) && $0 != 201 && $0 != 204 }
        #expect(considerate == considerate.sorted())
        #expect(all.firstIndex(of: 204) ?? 999 < 150, "what is at once overtakes")
    }
}

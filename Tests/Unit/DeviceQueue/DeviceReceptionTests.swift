import PostriderCourier
import PostriderNotifications
import RelayFixtures
import Testing

@testable import PostriderDeviceQueue

@Suite("What is held back for a device")
struct DeviceReceptionTests {
    private var rig = DeviceRig()
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
        let effects = rig.offer(priority: priority, collapse: collapse, to: registration)
        _ = rig.committed(number)
        return sent(effects)
    }

    @Test("is nothing but the lowest priority, where a device has said nothing")
    mutating func usual() {
        _ = rig.connect()
        #expect(push(1) == [1] && push(2, .considerate) == [2])
        #expect(push(3, .low) == [] && push(4, .low) == [])
        #expect(push(5) == [5, 3, 4], "what is at once brings the others, in their order")
        #expect(push(6, .low) == [])
        #expect(sent(rig.fetch()) == [6])
        #expect(sent(rig.fetch()) == [])
    }

    @Test("comes with the next link, whatever it is")
    mutating func nextLink() {
        _ = rig.connect(by: saving)
        #expect(push(1, .low) == [] && push(2, .considerate) == [])
        #expect(rig.disconnect() == [])
        #expect(push(3, .low) == [])
        #expect(rig.connect(by: saving) == ["load r1,r2,r3"])
        #expect(sent(rig.load(1...3)) == [1, 2, 3])
    }

    @Test("comes in groups where a device saves power, at the latest when the first has waited for long")
    mutating func groups() {
        _ = rig.connect(by: saving)
        #expect(push(1, .considerate) == [])
        rig.now = rig.now.advanced(byMilliseconds: 30_000)
        #expect(push(2, .low) == [] && push(3, .considerate) == [])
        let due = Samples.now.advanced(byMilliseconds: Limits.groupMilliseconds)
        #expect(
            !rig.device.isGroupDue(at: due.advanced(byMilliseconds: -1)) && rig.device.isGroupDue(at: due))
        #expect(
            rig.device.isGroupDue(at: Samples.now.advanced(byMilliseconds: -1)), "the clock was put back")
        #expect(sent(rig.fetch()) == [1, 2, 3])
        #expect(!rig.device.isGroupDue(at: due))
        #expect(push(4, .low) == [])
        #expect(
            !rig.device.isGroupDue(at: due.advanced(byMilliseconds: 1_000_000)),
            "low ones wait for others only")
        #expect(push(5) == [5, 4])
    }

    @Test("comes when the device saves power no longer")
    mutating func endOfSaving() {
        _ = rig.connect(by: saving)
        for number in 1...3 { _ = push(Int64(number), number == 2 ? .low : .considerate) }
        #expect(sent(rig.receive(by: .usual)) == [1, 3, 2])
        #expect(push(4, .considerate) == [4])
    }

    @Test("is what is for an ignored topic, until it is not ignored any more")
    mutating func ignored() {
        _ = rig.connect(by: Reception(ignored: [Samples.otherTopic.text, "not/a topic"]))
        #expect(
            push(1, to: Samples.second) == [] && push(2) == [2] && push(3, .low, to: Samples.second) == [])
        #expect(sent(rig.fetch()) == [])
        #expect(rig.acknowledge(1) == ["settle r2"])
        #expect(sent(rig.receive(by: Reception(opportunistic: [Samples.otherTopic.text]))) == [1, 3])
        #expect(push(4, to: Samples.second) == [] && push(5) == [5, 4])
        #expect(rig.device.pendingCount == 4)
    }

    @Test("obeys a registration that is made while its topic is ignored")
    mutating func laterRegistration() {
        let topic = Samples.named("com.example.third")
        _ = rig.connect(by: Reception(ignored: [topic.text]))
        let number = RegistrationNumber(3)
        _ = rig.apply(Samples.registration(number, of: topic))
        let notification = Samples.notification(1, to: number, topic: topic)
        #expect(sent(rig.offer(notification)) == [])
        #expect(sent(rig.receive(by: .usual)) == [1])
    }

    @Test("is discarded where it is now or never, unless it has only to wait for its group")
    mutating func nowOrNever() {
        _ = rig.connect(by: Reception(savesPower: true, opportunistic: [Samples.otherTopic.text]))
        #expect(rig.offer(priority: .low, nowOrNever: true) == ["200 s1"])
        #expect(rig.offer(nowOrNever: true, to: Samples.second) == ["200 s2"])
        #expect(rig.tally.discarded == 2)
        #expect(rig.offer(priority: .considerate, nowOrNever: true) == ["200 s3", "send 1 n3"])
        _ = rig.receive(by: Reception(ignored: [Samples.topic.text]))
        #expect(rig.offer(nowOrNever: true) == ["200 s4"])
        #expect(rig.tally.discarded == 3)
    }

    @Test("is not sent after its expiration, and makes way for a newer one of its slot")
    mutating func expiry() {
        _ = rig.connect()
        _ = rig.offer(priority: .low, lifetime: 1000)
        #expect(push(2, .low, collapse: "c") == [] && push(3, .low, collapse: "c") == [])
        rig.now = rig.now.advanced(byMilliseconds: 1000)
        #expect(sent(rig.fetch()) == [3])
        #expect(rig.tally.expired == 1 && rig.tally.replaced == 1)
    }

    @Test("is fetched from the disk when there is much of it, a window at a time")
    mutating func much() {
        _ = rig.connect()
        let count = Int64(Limits.deliveryWindow * 4 + 10)
        for number in 1...count { #expect(push(number, .low) == []) }
        #expect(sent(rig.fetch()) == Array(1...64))
        var next: UInt64 = 1
        while next < UInt64(count) {
            let effects = rig.acknowledge(next)
            if effects.contains(where: { $0.hasPrefix("load") }) { _ = rig.load(257...count) }
            next += 1
        }
        #expect(rig.device.pendingCount == 1)
    }

    @Test("keeps the order of acceptance within a priority while more comes than the window holds")
    mutating func order() {
        _ = rig.connect(by: saving)
        var all: [Int] = []
        for number in 1...200 { all += push(Int64(number), number.isMultiple(of: 3) ? .low : .considerate) }
        all += push(201)
        for delivery in 1...201 as ClosedRange<UInt64> {
            all += sent(rig.acknowledge(delivery))
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

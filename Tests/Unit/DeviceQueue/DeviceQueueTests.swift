import PostriderNotifications
import RelayFixtures
import Testing

@testable import PostriderDeviceQueue

@Suite("What waits for a device")
struct DeviceQueueTests {
    private var fixture = QueueFixture()

    @Test("goes out in order, as much as the window holds, and on with each acknowledgement of the oldest")
    mutating func window() {
        _ = fixture.connect()
        for number in 1...Limits.deliveryWindow {
            #expect(fixture.offer() == ["store r\(number)", "send \(number) n\(number)"])
        }
        #expect(fixture.offer() == ["store r65"] && fixture.offer() == ["store r66"])
        #expect(fixture.acknowledge(2, 3) == ["settle r2", "200 s2", "settle r3", "200 s3"])
        #expect(fixture.acknowledge(1) == ["settle r1", "200 s1", "send 65 n65", "send 66 n66"])
    }

    @Test("comes from the disk a window at a time, and what is offered meanwhile waits its turn")
    mutating func loads() {
        for number in 1...100 as ClosedRange<Int64> {
            _ = fixture.offer()
            #expect(fixture.committed(number) == ["200 s\(number)"])
        }
        #expect(fixture.connect() == ["load " + (1...64).map { "r\($0)" }.joined(separator: ",")])
        #expect(fixture.offer() == ["store r101"])
        #expect(fixture.load(1...64) == (1...64).map { "send \($0) n\($0)" })
        #expect(
            fixture.acknowledge(1) == [
                "settle r1", "load " + (65...100).map { "r\($0)" }.joined(separator: ","),
            ])
        #expect(fixture.acknowledge(2) == ["settle r2"])
        #expect(fixture.load(65...100) == ["send 65 n65", "send 66 n66"])
    }

    @Test("is given up when the disk does not have it any more")
    mutating func unreadable() {
        _ = fixture.offer()
        _ = fixture.offer()
        _ = fixture.committed(1, 2)
        _ = fixture.connect()
        #expect(fixture.load(1...2, missing: [1]) == ["settle r1", "send 1 n2"])
        #expect(fixture.tally[.unreadable] == 1)
    }

    @Test("is loaded again for a device that came back meanwhile, and a late answer does no harm")
    mutating func loadAcrossConnections() {
        _ = fixture.offer()
        _ = fixture.offer()
        _ = fixture.committed(1, 2)
        #expect(fixture.connect() == ["load r1,r2"])
        #expect(fixture.disconnect() == [])
        #expect(fixture.connect() == ["load r1,r2"])
        #expect(fixture.load(1...2) == ["send 1 n1", "send 2 n2"])
        #expect(fixture.acknowledge(1) == ["settle r1"])
        #expect(fixture.load(1...2) == [])
        #expect(fixture.load(1...2, missing: [1, 2]) == [])
        #expect(fixture.disconnect() == [])
        #expect(fixture.load(2...2) == [])
        #expect(
            fixture.device.backlog.queue[QueueRow(2)]?.notification == nil,
            "an absent device's queue lies on the disk")
        #expect(fixture.connect() == ["load r2"])
    }

    @Test("goes out again, in order, after the device has left: late ones are not forgotten")
    mutating func reconnect() {
        _ = fixture.connect()
        for _ in 1...3 { _ = fixture.offer() }
        _ = fixture.committed(1, 2, 3)
        #expect(fixture.acknowledge(2) == ["settle r2"])
        #expect(fixture.connect() == ["load r1,r3"])
        #expect(fixture.offer() == ["store r4"])
        #expect(fixture.load(1...3) == ["send 1 n1", "send 2 n3", "send 3 n4"])
    }

    @Test("is dropped when an app has its full number: the oldest of lowest priority that is not in flight")
    mutating func overflow() {
        let most = Limits.pendingPerRegistration
        for number in 1...most {
            _ = fixture.offer(priority: number == 500 || number == 700 ? .low : .considerate)
        }
        #expect(fixture.offer(to: Samples.second) == ["store r\(most + 1)"])
        #expect(fixture.offer() == ["settle r500", "429 s500", "store r\(most + 2)"])
        #expect(fixture.offer() == ["settle r700", "429 s700", "store r\(most + 3)"])
        _ = fixture.committed(1)
        #expect(fixture.offer() == ["settle r1", "store r\(most + 4)"])
        #expect(fixture.connect().count == Limits.deliveryWindow)
        #expect(fixture.offer() == ["settle r66", "429 s66", "store r\(most + 5)"])
        #expect(fixture.tally[.overflow] == 4)
    }

    @Test("expires at its moment: when it is looked for, and when its turn comes")
    mutating func expiration() {
        _ = fixture.offer(lifetime: 1000)
        _ = fixture.offer(lifetime: 3000)
        _ = fixture.offer(lifetime: 2000)
        _ = fixture.committed(1)
        #expect(fixture.expire(afterMilliseconds: 999) == [])
        #expect(fixture.expire(afterMilliseconds: 1) == ["settle r1"])
        fixture.now = fixture.now.advanced(byMilliseconds: 1000)
        #expect(fixture.connect() == ["send 1 n2", "settle r3", "200 s3"])
        #expect(fixture.expire(afterMilliseconds: 5000) == [], "what is in flight has its chance")
        #expect(fixture.disconnect() == [])
        #expect(fixture.expire(afterMilliseconds: 0) == ["settle r2", "200 s2"])
        #expect(fixture.tally.expired == 3)
    }

    @Test("is restored at start-up in the order of rows, behind which new ones come")
    mutating func restore() {
        #expect(fixture.restore(3, Samples.notification(1)) == [])
        #expect(fixture.restore(8, Samples.notification(2)) == [])
        #expect(fixture.tally.accepted == 2)
        #expect(fixture.offer() == ["store r9"])
        #expect(fixture.connect() == ["load r3,r8"])
        #expect(fixture.load(3...8) == ["send 1 n1", "send 2 n2", "send 3 n9"])
    }

    @Test("is settled at start-up when a newer one holds its slot, or its registration is dead or unknown")
    mutating func restoreLeftovers() {
        fixture = QueueFixture(registrations: [
            Samples.registration(),
            Samples.registration(Samples.second, of: Samples.otherTopic, unregisteredAt: Samples.now),
        ])
        #expect(fixture.restore(1, Samples.notification(1, collapse: "c")) == [])
        #expect(
            fixture.restore(2, Samples.notification(2, to: Samples.second, topic: Samples.otherTopic)) == [
                "settle r2"
            ])
        #expect(fixture.restore(3, Samples.notification(3, collapse: "c")) == ["settle r1"])
        #expect(fixture.restore(4, Samples.notification(4, to: RegistrationNumber(77))) == ["settle r4"])
        #expect(
            fixture.tally.replaced == 1 && fixture.tally[.unregistered] == 2 && fixture.tally.pending == 1)
        #expect(fixture.connect() == ["load r3"])
    }

    @Test("leaves room for a registration while fewer than 256 are good, and in place of a good one")
    mutating func registrations() {
        fixture = QueueFixture(registrations: [])
        for number in 1...256 as ClosedRange<UInt32> {
            #expect(fixture.device.registrations.hasRoom(inPlaceOf: nil))
            _ = fixture.apply(
                Samples.registration(RegistrationNumber(number), of: Samples.named("a.\(number)")))
        }
        #expect(!fixture.device.registrations.hasRoom(inPlaceOf: nil))
        #expect(fixture.device.registrations.hasRoom(inPlaceOf: RegistrationNumber(9)))
        _ = fixture.apply(
            Samples.registration(RegistrationNumber(7), of: Samples.named("a.7"), unregisteredAt: Samples.now)
        )
        #expect(fixture.device.registrations.hasRoom(inPlaceOf: nil))
        #expect(fixture.device.registrations.nextNumber(in: .production) == RegistrationNumber(257))
    }

    /// A now-or-never push replaces a push that is not stored yet, and then fails, so that no copy of the first one
    /// is left. The provider of the first one must not get a 200.
    @Test("has a push made again that was replaced, before it was safe, by a now-or-never one that failed")
    mutating func replacedInVain() {
        _ = fixture.offer(collapse: "score")
        _ = fixture.committed(1)
        _ = fixture.connect()
        _ = fixture.load(1...1)
        _ = fixture.offer(collapse: "score")
        _ = fixture.offer(collapse: "score", nowOrNever: true)
        #expect(fixture.disconnect() == ["503 s2"])
        #expect(fixture.device.backlog.queue[QueueRow(1)] != nil, "the one that was promised waits again")
    }
}

import PostriderNotifications
import RelayFixtures
import Testing

@testable import PostriderDeviceQueue

@Suite("What waits for a device")
struct DeviceQueueTests {
    private var rig = DeviceRig()

    @Test("goes out in order, as much as the window holds, and on with each acknowledgement of the oldest")
    mutating func window() {
        _ = rig.connect()
        for number in 1...Limits.deliveryWindow {
            #expect(rig.offer() == ["store r\(number)", "send \(number) n\(number)"])
        }
        #expect(rig.offer() == ["store r65"] && rig.offer() == ["store r66"])
        #expect(rig.acknowledge(2, 3) == ["settle r2", "200 s2", "settle r3", "200 s3"])
        #expect(rig.acknowledge(1) == ["settle r1", "200 s1", "send 65 n65", "send 66 n66"])
    }

    @Test("comes from the disk a window at a time, and what is offered meanwhile waits its turn")
    mutating func loads() {
        for number in 1...100 as ClosedRange<Int64> {
            _ = rig.offer()
            #expect(rig.committed(number) == ["200 s\(number)"])
        }
        #expect(rig.connect() == ["load " + (1...64).map { "r\($0)" }.joined(separator: ",")])
        #expect(rig.offer() == ["store r101"])
        #expect(rig.load(1...64) == (1...64).map { "send \($0) n\($0)" })
        #expect(
            rig.acknowledge(1) == ["settle r1", "load " + (65...100).map { "r\($0)" }.joined(separator: ",")])
        #expect(rig.acknowledge(2) == ["settle r2"])
        #expect(rig.load(65...100) == ["send 65 n65", "send 66 n66"])
    }

    @Test("is given up when the disk does not have it any more")
    mutating func unreadable() {
        _ = rig.offer()
        _ = rig.offer()
        _ = rig.committed(1, 2)
        _ = rig.connect()
        #expect(rig.load(1...2, missing: [1]) == ["settle r1", "send 1 n2"])
        #expect(rig.tally[.unreadable] == 1)
    }

    @Test("is loaded again for a device that came back meanwhile, and a late answer does no harm")
    mutating func loadAcrossConnections() {
        _ = rig.offer()
        _ = rig.offer()
        _ = rig.committed(1, 2)
        #expect(rig.connect() == ["load r1,r2"])
        #expect(rig.disconnect() == [])
        #expect(rig.connect() == ["load r1,r2"])
        #expect(rig.load(1...2) == ["send 1 n1", "send 2 n2"])
        #expect(rig.acknowledge(1) == ["settle r1"])
        #expect(rig.load(1...2) == [])
        #expect(rig.load(1...2, missing: [1, 2]) == [])
        #expect(rig.disconnect() == [])
        #expect(rig.load(2...2) == [])
        #expect(
            rig.device.backlog.queue[QueueRow(2)]?.notification == nil,
            "an absent device's queue lies on the disk")
        #expect(rig.connect() == ["load r2"])
    }

    @Test("goes out again, in order, after the device has left: late ones are not forgotten")
    mutating func reconnect() {
        _ = rig.connect()
        for _ in 1...3 { _ = rig.offer() }
        _ = rig.committed(1, 2, 3)
        #expect(rig.acknowledge(2) == ["settle r2"])
        #expect(rig.connect() == ["load r1,r3"])
        #expect(rig.offer() == ["store r4"])
        #expect(rig.load(1...3) == ["send 1 n1", "send 2 n3", "send 3 n4"])
    }

    @Test("is dropped when an app has its full number: the oldest of lowest priority that is not in flight")
    mutating func overflow() {
        let most = Limits.pendingPerRegistration
        for number in 1...most {
            _ = rig.offer(priority: number == 500 || number == 700 ? .low : .considerate)
        }
        #expect(rig.offer(to: Samples.second) == ["store r\(most + 1)"])
        #expect(rig.offer() == ["settle r500", "429 s500", "store r\(most + 2)"])
        #expect(rig.offer() == ["settle r700", "429 s700", "store r\(most + 3)"])
        _ = rig.committed(1)
        #expect(rig.offer() == ["settle r1", "store r\(most + 4)"])
        #expect(rig.connect().count == Limits.deliveryWindow)
        #expect(rig.offer() == ["settle r66", "429 s66", "store r\(most + 5)"])
        #expect(rig.tally[.overflow] == 4)
    }

    @Test("expires at its moment: when it is looked for, and when its turn comes")
    mutating func expiration() {
        _ = rig.offer(lifetime: 1000)
        _ = rig.offer(lifetime: 3000)
        _ = rig.offer(lifetime: 2000)
        _ = rig.committed(1)
        #expect(rig.expire(afterMilliseconds: 999) == [])
        #expect(rig.expire(afterMilliseconds: 1) == ["settle r1"])
        rig.now = rig.now.advanced(byMilliseconds: 1000)
        #expect(rig.connect() == ["send 1 n2", "settle r3", "200 s3"])
        #expect(rig.expire(afterMilliseconds: 5000) == [], "what is in flight has its chance")
        #expect(rig.disconnect() == [])
        #expect(rig.expire(afterMilliseconds: 0) == ["settle r2", "200 s2"])
        #expect(rig.tally.expired == 3)
    }

    @Test("is restored at start-up in the order of rows, behind which new ones come")
    mutating func restore() {
        #expect(rig.restore(3, Samples.notification(1)) == [])
        #expect(rig.restore(8, Samples.notification(2)) == [])
        #expect(rig.tally.accepted == 2)
        #expect(rig.offer() == ["store r9"])
        #expect(rig.connect() == ["load r3,r8"])
        #expect(rig.load(3...8) == ["send 1 n1", "send 2 n2", "send 3 n9"])
    }

    @Test("is settled at start-up when a newer one holds its slot, or its registration is dead or unknown")
    mutating func restoreLeftovers() {
        rig = DeviceRig(registrations: [
            Samples.registration(),
            Samples.registration(Samples.second, of: Samples.otherTopic, unregisteredAt: Samples.now),
        ])
        #expect(rig.restore(1, Samples.notification(1, collapse: "c")) == [])
        #expect(
            rig.restore(2, Samples.notification(2, to: Samples.second, topic: Samples.otherTopic)) == [
                "settle r2"
            ])
        #expect(rig.restore(3, Samples.notification(3, collapse: "c")) == ["settle r1"])
        #expect(rig.restore(4, Samples.notification(4, to: RegistrationNumber(77))) == ["settle r4"])
        #expect(rig.tally.replaced == 1 && rig.tally[.unregistered] == 2 && rig.tally.pending == 1)
        #expect(rig.connect() == ["load r3"])
    }

    @Test("leaves room for a registration while fewer than 256 are good, and in place of a good one")
    mutating func registrations() {
        rig = DeviceRig(registrations: [])
        for number in 1...256 as ClosedRange<UInt32> {
            #expect(rig.device.registrations.hasRoom(inPlaceOf: nil))
            _ = rig.apply(Samples.registration(RegistrationNumber(number), of: Samples.named("a.\(number)")))
        }
        #expect(!rig.device.registrations.hasRoom(inPlaceOf: nil))
        #expect(rig.device.registrations.hasRoom(inPlaceOf: RegistrationNumber(9)))
        _ = rig.apply(
            Samples.registration(RegistrationNumber(7), of: Samples.named("a.7"), unregisteredAt: Samples.now)
        )
        #expect(rig.device.registrations.hasRoom(inPlaceOf: nil))
        #expect(rig.device.registrations.nextNumber(in: .production) == RegistrationNumber(257))
    }

    /// A now-or-never push replaces a push that is not stored yet, and then fails, so that no copy of the first one
    /// is left. The provider of the first one must not get a 200.
    @Test("has a push made again that was replaced, before it was safe, by a now-or-never one that failed")
    mutating func replacedInVain() {
        _ = rig.offer(collapse: "score")
        _ = rig.committed(1)
        _ = rig.connect()
        _ = rig.load(1...1)
        _ = rig.offer(collapse: "score")
        _ = rig.offer(collapse: "score", nowOrNever: true)
        #expect(rig.disconnect() == ["503 s2"])
        #expect(rig.device.backlog.queue[QueueRow(1)] != nil, "the one that was promised waits again")
    }
}

import PostriderNotifications
import RelayFixtures
import Testing

@testable import PostriderDeviceQueue

@Suite("Pushes with one apns-id")
struct SamePushTests {
    private var fixture = QueueFixture()

    @Test("that differ are all delivered to a device that was absent", .bug(id: "R6"))
    mutating func absent() {
        for number in 1...3 as ClosedRange<Int64> {
            #expect(fixture.offer(identity: 7, payload: "{\"n\":\(number)}") == ["store r\(number)"])
            #expect(fixture.committed(number) == ["200 s\(number)"])
        }
        #expect(fixture.connect() == ["load r1,r2,r3"])
        #expect(fixture.load(1...3) == ["send 1 n7", "send 2 n7", "send 3 n7"])
        #expect(fixture.acknowledge(1, 2, 3) == ["settle r1", "settle r2", "settle r3"])
        #expect(fixture.tally.delivered == 3 && fixture.tally.replaced == 0)
    }

    @Test("that differ are all sent to a device that is there", .bug(id: "R6"))
    mutating func present() {
        _ = fixture.connect()
        for number in 1...3 as ClosedRange<Int64> {
            #expect(
                fixture.offer(identity: 7, payload: "{\"n\":\(number)}")
                    == ["store r\(number)", "send \(number) n7"])
        }
        #expect(fixture.acknowledge(2) == ["settle r2", "200 s2"])
        #expect(fixture.acknowledge(1, 3) == ["settle r1", "200 s1", "settle r3", "200 s3"])
        #expect(fixture.tally.delivered == 3)
    }

    @Test(
        "that are sent again are merged, each with its own: unstored, stored, or while others have gone",
        .bug(id: "R6"))
    mutating func resent() {
        _ = fixture.offer(identity: 7, payload: "{\"n\":1}")
        _ = fixture.offer(identity: 7, payload: "{\"n\":2}")
        // Repeats 1 and 2 before they are stored.
        #expect(fixture.offer(identity: 7, payload: "{\"n\":2}") == [])
        #expect(fixture.offer(identity: 7, payload: "{\"n\":1}") == [])
        #expect(fixture.committed(1, 2) == ["200 s1", "200 s4", "200 s2", "200 s3"])
        // Repeats both while they are only on the disk.
        #expect(fixture.offer(identity: 7, payload: "{\"n\":1}") == ["200 s5"])
        #expect(fixture.offer(identity: 7, payload: "{\"n\":2}") == ["200 s6"])
        // Repeats both after 1 was delivered.
        _ = fixture.connect()
        #expect(fixture.load(1...2) == ["send 1 n7", "send 2 n7"])
        _ = fixture.acknowledge(1)
        #expect(fixture.offer(identity: 7, payload: "{\"n\":2}") == ["200 s7"])
        #expect(fixture.offer(identity: 7, payload: "{\"n\":1}") == ["store r8", "send 3 n7"])
        _ = fixture.acknowledge(2, 3)
        #expect(
            fixture.tally.delivered == 3 && fixture.tally.replaced == 5 && fixture.device.pendingCount == 0)
        #expect(
            fixture.notes.filter { $0.hasPrefix("merged") }
                == ["merged r3 2", "merged r4 1", "merged r5 1", "merged r6 2", "merged r7 2"])
    }

    @Test("are not merged with one whose time is over", .bug(id: "R6"))
    mutating func expired() {
        for number in 1...2 as ClosedRange<Int64> {
            _ = fixture.offer(lifetime: 1000, identity: 7, payload: "{\"n\":\(number)}")
            _ = fixture.committed(number)
        }
        let (first, second) = (fixture.disk[QueueRow(1)], fixture.disk[QueueRow(2)])
        fixture.now = fixture.now.advanced(byMilliseconds: 1000)
        #expect(second.map { fixture.offer($0) } == ["settle r1", "settle r2", "store r3"])
        #expect(first.map { fixture.offer($0) } == ["store r4"])
        #expect(fixture.tally.expired == 2 && fixture.tally.replaced == 0 && fixture.device.pendingCount == 2)
    }

    @Test("are other pushes if any header differs", .bug(id: "R6"))
    mutating func headers() {
        _ = fixture.connect()
        _ = fixture.offer(identity: 7)
        #expect(fixture.offer(priority: .considerate, identity: 7) == ["store r2", "send 2 n7"])
        #expect(fixture.offer(nowOrNever: true, identity: 7) == ["200 s3", "send 3 n7"])
        #expect(fixture.offer(lifetime: 60_001, identity: 7) == ["store r4", "send 4 n7"])
        #expect(fixture.offer(collapse: "c", identity: 7) == ["store r5", "send 5 n7"])
        #expect(fixture.offer(identity: 7) == [])
        #expect(fixture.acknowledge(1, 2, 3, 4, 5).count { $0.hasPrefix("200") } == 5)
    }

    @Test("and without apns-expiration are the same at any time", .bug(id: "R6"))
    mutating func unstatedExpiration() {
        func push(_ seconds: Int64) -> Notification {
            let now = Samples.now.advanced(byMilliseconds: seconds * 1000)
            return Notification(
                identity: NotificationIdentity(high: 1, low: 7), device: Samples.device,
                registration: Samples.first, topic: Samples.topic, pushType: .alert, priority: .immediate,
                expiration: .at(now.advanced(byMilliseconds: Limits.storedDays * 24 * 60 * 60 * 1000)),
                collapseIdentifier: nil, payload: [], acceptedAt: now)
        }
        #expect(fixture.offer(push(0)) == ["store r1"])
        #expect(fixture.offer(push(5)) == [])
        #expect(fixture.committed(1) == ["200 s1", "200 s2"])
        #expect(fixture.offer(push(9)) == ["200 s3"])
    }

    @Test("survive a restart of the relay, all of them", .bug(id: "R6"))
    mutating func restart() {
        for number in 1...3 as ClosedRange<Int64> {
            let payload = Array("{\"n\":\(number)}".utf8)
            #expect(fixture.restore(number, Samples.notification(7, payload: payload)) == [])
        }
        #expect(fixture.connect() == ["load r1,r2,r3"])
        #expect(fixture.load(1...3) == ["send 1 n7", "send 2 n7", "send 3 n7"])
        #expect(fixture.acknowledge(1, 2, 3).count == 3)
    }
}

import PostriderNotifications
import RelayFixtures
import Testing

@testable import PostriderDeviceQueue

@Suite("Where only the latest of an app waits")
struct LatestTests {
    private var fixture = QueueFixture()

    init() { fixture.rules.storage = .latest }

    @Test("a later push replaces the one that waits, whatever their collapse identifiers, and no other app's")
    mutating func replaces() {
        _ = fixture.offer(collapse: "a")
        _ = fixture.committed(1)
        #expect(fixture.offer(to: Samples.second) == ["store r2"])
        #expect(fixture.offer(collapse: "b") == ["store r3"])
        #expect(fixture.committed(2, 3) == ["200 s2", "settle r1", "200 s3"])
        #expect(fixture.offer() == ["store r4"])
        #expect(fixture.offer() == ["store r5", "settle r4"])
        #expect(fixture.committed(4, 5) == ["settle r3", "200 s5", "200 s4"])
        #expect(fixture.tally.replaced == 3 && fixture.device.pendingCount == 2 && fixture.tally.isBalanced)
        #expect(fixture.connect() == ["load r2,r5"])
    }

    @Test("what is in the device's hands is not touched until it is acknowledged")
    mutating func inFlight() {
        _ = fixture.connect()
        #expect(fixture.offer() == ["store r1", "send 1 n1"])
        #expect(fixture.offer() == ["store r2", "send 2 n2"])
        #expect(fixture.committed(1, 2) == ["200 s1", "200 s2"])
        #expect(fixture.acknowledge(1, 2) == ["settle r1", "settle r2"])
        #expect(fixture.tally.delivered == 2 && fixture.tally.replaced == 0)
    }

    @Test("of what was in flight when the device left, the latest waits")
    mutating func left() {
        _ = fixture.connect()
        for _ in 1...3 { _ = fixture.offer() }
        _ = fixture.offer(to: Samples.second)
        _ = fixture.committed(1, 2)
        #expect(fixture.disconnect() == ["settle r1"])
        #expect(fixture.tally.replaced == 2 && fixture.device.pendingCount == 2)
        #expect(fixture.committed(3, 4) == ["settle r2", "200 s3", "200 s4"])
        #expect(fixture.offer() == ["store r5"])
        #expect(fixture.committed(5) == ["settle r3", "200 s5"])
        #expect(fixture.connect() == ["load r4,r5"])
        #expect(fixture.tally.isBalanced)
    }

    @Test("of what was in flight, one that was acknowledged leaves the others to be replaced")
    mutating func acknowledgedLatest() {
        _ = fixture.connect()
        _ = fixture.offer()
        _ = fixture.offer()
        _ = fixture.committed(1, 2)
        #expect(fixture.acknowledge(2) == ["settle r2"])
        #expect(fixture.disconnect() == [])
        #expect(fixture.offer() == ["store r3"])
        #expect(fixture.committed(3) == ["settle r1", "200 s3"])
    }

    @Test("a promised push comes back when the one that replaced it cannot be stored")
    mutating func failed() {
        _ = fixture.offer()
        _ = fixture.committed(1)
        _ = fixture.offer()
        #expect(fixture.failed(2) == ["settle r2", "503 s2"])
        #expect(fixture.tally.replaced == 0)
        #expect(fixture.connect() == ["load r1"])
    }

    @Test("a promised push waits behind the latest of those that cannot be stored")
    mutating func failedInFlight() {
        _ = fixture.connect()
        for _ in 1...Limits.deliveryWindow { _ = fixture.offer(nowOrNever: true, to: Samples.second) }
        let (older, inFlight, latest) = (Int64(65), Int64(66), Int64(67))
        #expect(fixture.offer() == ["store r\(older)"])
        _ = fixture.committed(older)
        #expect(fixture.offer() == ["store r\(inFlight)"])
        #expect(fixture.acknowledge(1) == ["send 65 n66"], "its turn has come, and it is not stored yet")
        #expect(fixture.offer() == ["store r\(latest)"])
        #expect(fixture.failed(inFlight) == [])
        #expect(fixture.disconnect() == ["503 s66"])
        #expect(fixture.failed(latest) == ["settle r67", "503 s67"])
        #expect(fixture.connect() == ["load r65"])
        #expect(fixture.tally.isBalanced && fixture.device.backlog.replaced.isEmpty)
    }

    @Test(
        "a promised push does not come back once a later one was safe, or handed over",
        arguments: [true, false])
    mutating func failedBeforeLater(_ isStored: Bool) {
        _ = fixture.connect()
        for _ in 1...Limits.deliveryWindow { _ = fixture.offer(nowOrNever: true, to: Samples.second) }
        let (older, inFlight, latest) = (Int64(65), Int64(66), Int64(67))
        _ = fixture.offer()
        _ = fixture.committed(older)
        _ = fixture.offer()
        _ = fixture.acknowledge(1)
        #expect(fixture.failed(inFlight) == [])
        _ = fixture.offer()
        if isStored { #expect(fixture.committed(latest) == ["settle r65", "200 s67"]) }
        #expect(fixture.acknowledge(2) == ["send 66 n67"])
        #expect(
            fixture.acknowledge(66) == (isStored ? ["settle r67"] : ["settle r65", "settle r67", "200 s67"]))
        #expect(fixture.disconnect() == ["503 s66"])
        #expect(fixture.connect() == [])
        #expect(
            fixture.tally.isBalanced && fixture.device.backlog.replaced.isEmpty
                && fixture.device.pendingCount == 0)
    }

    @Test("now or never takes nothing's place: it does not wait")
    mutating func nowOrNever() {
        _ = fixture.offer()
        _ = fixture.committed(1)
        #expect(fixture.offer(nowOrNever: true) == ["200 s2"])
        #expect(fixture.connect() == ["load r1"])
        #expect(fixture.offer(nowOrNever: true) == ["200 s3"])
        #expect(fixture.load(1...1) == ["send 1 n1", "send 2 n3"])
        #expect(fixture.tally.replaced == 0)
    }

    @Test("the latest of each app is left when a relay starts, whatever it kept before")
    mutating func restore() {
        #expect(fixture.restore(1, Samples.notification(1, collapse: "a")) == [])
        #expect(fixture.restore(2, Samples.notification(2)) == ["settle r1"])
        #expect(
            fixture.restore(3, Samples.notification(3, to: Samples.second, topic: Samples.otherTopic)) == [])
        #expect(fixture.restore(4, Samples.notification(4, collapse: "b")) == ["settle r2"])
        #expect(fixture.tally.accepted == 4 && fixture.tally.replaced == 2 && fixture.tally.isBalanced)
        #expect(fixture.connect() == ["load r3,r4"])
    }
}

@Suite("How much a device token takes")
struct PushAllowanceTests {
    private var fixture = QueueFixture()

    @Test("is ten seconds' worth in a row, and then so many a second, for each token by itself")
    mutating func rate() {
        fixture.rules.pushesPerSecond = 2
        for _ in 1...20 { #expect(fixture.offer(nowOrNever: true).first?.hasPrefix("200") == true) }
        #expect(fixture.offer() == ["429 s21"])
        #expect(fixture.tally.accepted == 20)
        #expect(fixture.offer(to: Samples.second) == ["store r22"])
        fixture.now = fixture.now.advanced(byMilliseconds: 499)
        #expect(fixture.offer() == ["429 s23"])
        fixture.now = fixture.now.advanced(byMilliseconds: 1)
        #expect(fixture.offer() == ["store r24"])
        #expect(fixture.offer() == ["429 s25"])
        fixture.now = fixture.now.advanced(byMilliseconds: 3_600_000)
        for _ in 1...20 { #expect(fixture.offer(nowOrNever: true).first?.hasPrefix("200") == true) }
        #expect(fixture.offer() == ["429 s46"])
    }

    @Test("is as much as comes where nothing is set")
    mutating func unlimited() {
        fixture.rules.pushesPerSecond = nil
        for _ in 1...Limits.pushesPerSecond * Limits.pushBurstSeconds + 1 {
            guard fixture.offer(nowOrNever: true).first?.hasPrefix("200") == true else {
                Issue.record("a push was refused")
                return
            }
        }
    }

    @Test("is whole again where the clock was put back by more than it knows of")
    func clock() {
        var allowance = PushAllowance()
        let later = Samples.now.advanced(byMilliseconds: 86_400_000)
        let moments = [later, Samples.now, Samples.now.advanced(byMilliseconds: -5000)]
        let isTaken = moments.map { allowance.take(now: $0, perSecond: 1) }
        #expect(isTaken == [true, true, true])
    }
}

@Suite("The tokens of a device that does not come back")
struct ExpiryTests {
    private var fixture = QueueFixture()
    private let day: Int64 = 24 * 60 * 60 * 1000

    @Test("expire so long after it was seen, and are good again when it returns")
    mutating func expiry() {
        fixture.rules.expiryMilliseconds = 30 * day
        fixture.now = Samples.now.advanced(byMilliseconds: 30 * day - 1)
        #expect(fixture.offer() == ["store r1"])
        fixture.now = Samples.now.advanced(byMilliseconds: 40 * day)
        #expect(fixture.offer() == ["410 s2 since \(Samples.now.milliseconds + 30 * day)"])
        let isNews = fixture.device.noteSeen(now: fixture.now)
        #expect(isNews)
        _ = fixture.connect()
        #expect(fixture.offer().first == "store r3")
        fixture.now = fixture.now.advanced(byMilliseconds: 100 * day)
        #expect(fixture.offer().first == "store r4", "a connected device is there")
        _ = fixture.device.noteSeen(now: fixture.now)
        _ = fixture.disconnect()
        #expect(fixture.offer() == ["store r5"])
    }

    @Test("never expire if nothing is set, and an unregistered token stays unregistered")
    mutating func never() {
        fixture.now = Samples.now.advanced(byMilliseconds: 4000 * day)
        #expect(fixture.offer() == ["store r1"])
        fixture.rules.expiryMilliseconds = day
        _ = fixture.apply(Samples.registration(unregisteredAt: Samples.now))
        #expect(fixture.offer() == ["410 s2 since \(Samples.now.milliseconds)"])
        let verdict = fixture.device.refusal(of: Samples.notification(1), fixture.now, fixture.rules)
        #expect(verdict == .rejected(.unregistered, since: Samples.now))
    }

    @Test("the registry is told once a day that a device was seen")
    mutating func sightings() {
        let isNews = [day - 1, day, day].map { later in
            fixture.device.noteSeen(now: Samples.now.advanced(byMilliseconds: later))
        }
        #expect(isNews == [false, true, false])
        #expect(fixture.device.record.seenAt == Samples.now.advanced(byMilliseconds: day))
    }
}

@Suite("What is refused by a device's home")
struct HomeOrderTests {
    @Test("is told in the contract's order: unknown, another app's, dead, too many")
    func order() {
        var fixture = QueueFixture(registrations: [Samples.registration(unregisteredAt: Samples.now)])
        fixture.rules.pushesPerSecond = 1
        fixture.rules.expiryMilliseconds = 1
        fixture.now = Samples.now.advanced(byMilliseconds: 1000)
        #expect(fixture.offer(Samples.notification(1, to: RegistrationNumber(9))) == ["400 s1"])
        #expect(fixture.offer(Samples.notification(2, topic: Samples.otherTopic)) == ["400 s2"])
        let since = "since \(Samples.now.milliseconds)"
        #expect(fixture.offer(Samples.notification(3)) == ["410 s3 \(since)"])
    }

    @Test("is answered with the failure of the store, and settled")
    func storeFailure() {
        var fixture = QueueFixture()
        _ = fixture.offer()
        #expect(fixture.failed(1, .internalServerError) == ["settle r1", "500 s1"])
    }
}

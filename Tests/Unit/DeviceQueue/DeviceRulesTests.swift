import PostriderNotifications
import RelayFixtures
import Testing

@testable import PostriderDeviceQueue

@Suite("Where only the latest of an app waits")
struct LatestTests {
    private var rig = DeviceRig()

    init() { rig.rules.storage = .latest }

    @Test("a later push replaces the one that waits, whatever their collapse identifiers, and no other app's")
    mutating func replaces() {
        _ = rig.offer(collapse: "a")
        _ = rig.committed(1)
        #expect(rig.offer(to: Samples.second) == ["store r2"])
        #expect(rig.offer(collapse: "b") == ["store r3"])
        #expect(rig.committed(2, 3) == ["200 s2", "settle r1", "200 s3"])
        #expect(rig.offer() == ["store r4"])
        #expect(rig.offer() == ["store r5", "settle r4"])
        #expect(rig.committed(4, 5) == ["settle r3", "200 s5", "200 s4"])
        #expect(rig.tally.replaced == 3 && rig.device.pendingCount == 2 && rig.tally.isBalanced)
        #expect(rig.connect() == ["load r2,r5"])
    }

    @Test("what is in the device's hands is not touched until it is acknowledged")
    mutating func inFlight() {
        _ = rig.connect()
        #expect(rig.offer() == ["store r1", "send 1 n1"])
        #expect(rig.offer() == ["store r2", "send 2 n2"])
        #expect(rig.committed(1, 2) == ["200 s1", "200 s2"])
        #expect(rig.acknowledge(1, 2) == ["settle r1", "settle r2"])
        #expect(rig.tally.delivered == 2 && rig.tally.replaced == 0)
    }

    @Test("of what was in flight when the device left, the latest waits")
    mutating func left() {
        _ = rig.connect()
        for _ in 1...3 { _ = rig.offer() }
        _ = rig.offer(to: Samples.second)
        _ = rig.committed(1, 2)
        #expect(rig.disconnect() == ["settle r1"])
        #expect(rig.tally.replaced == 2 && rig.device.pendingCount == 2)
        #expect(rig.committed(3, 4) == ["settle r2", "200 s3", "200 s4"])
        #expect(rig.offer() == ["store r5"])
        #expect(rig.committed(5) == ["settle r3", "200 s5"])
        #expect(rig.connect() == ["load r4,r5"])
        #expect(rig.tally.isBalanced)
    }

    @Test("of what was in flight, one that was acknowledged leaves the others to be replaced")
    mutating func acknowledgedLatest() {
        _ = rig.connect()
        _ = rig.offer()
        _ = rig.offer()
        _ = rig.committed(1, 2)
        #expect(rig.acknowledge(2) == ["settle r2"])
        #expect(rig.disconnect() == [])
        #expect(rig.offer() == ["store r3"])
        #expect(rig.committed(3) == ["settle r1", "200 s3"])
    }

    @Test("a promised push comes back when the one that replaced it cannot be stored")
    mutating func failed() {
        _ = rig.offer()
        _ = rig.committed(1)
        _ = rig.offer()
        #expect(rig.failed(2) == ["settle r2", "503 s2"])
        #expect(rig.tally.replaced == 0)
        #expect(rig.connect() == ["load r1"])
    }

    @Test("a promised push waits behind the latest of those that cannot be stored")
    mutating func failedInFlight() {
        _ = rig.connect()
        for _ in 1...Limits.deliveryWindow { _ = rig.offer(nowOrNever: true, to: Samples.second) }
        let (older, inFlight, latest) = (Int64(65), Int64(66), Int64(67))
        #expect(rig.offer() == ["store r\(older)"])
        _ = rig.committed(older)
        #expect(rig.offer() == ["store r\(inFlight)"])
        #expect(rig.acknowledge(1) == ["send 65 n66"], "its turn has come, and it is not stored yet")
        #expect(rig.offer() == ["store r\(latest)"])
        #expect(rig.failed(inFlight) == [])
        #expect(rig.disconnect() == ["503 s66"])
        #expect(rig.failed(latest) == ["settle r67", "503 s67"])
        #expect(rig.connect() == ["load r65"])
        #expect(rig.tally.isBalanced && rig.device.backlog.replaced.isEmpty)
    }

    @Test(
        "a promised push does not come back once a later one was safe, or handed over",
        arguments: [true, false])
    mutating func failedBeforeLater(_ isStored: Bool) {
        _ = rig.connect()
        for _ in 1...Limits.deliveryWindow { _ = rig.offer(nowOrNever: true, to: Samples.second) }
        let (older, inFlight, latest) = (Int64(65), Int64(66), Int64(67))
        _ = rig.offer()
        _ = rig.committed(older)
        _ = rig.offer()
        _ = rig.acknowledge(1)
        #expect(rig.failed(inFlight) == [])
        _ = rig.offer()
        if isStored { #expect(rig.committed(latest) == ["settle r65", "200 s67"]) }
        #expect(rig.acknowledge(2) == ["send 66 n67"])
        #expect(
            rig.acknowledge(66) == (isStored ? ["settle r67"] : ["settle r65", "settle r67", "200 s67"]))
        #expect(rig.disconnect() == ["503 s66"])
        #expect(rig.connect() == [])
        #expect(rig.tally.isBalanced && rig.device.backlog.replaced.isEmpty && rig.device.pendingCount == 0)
    }

    @Test("now or never takes nothing's place: it does not wait")
    mutating func nowOrNever() {
        _ = rig.offer()
        _ = rig.committed(1)
        #expect(rig.offer(nowOrNever: true) == ["200 s2"])
        #expect(rig.connect() == ["load r1"])
        #expect(rig.offer(nowOrNever: true) == ["200 s3"])
        #expect(rig.load(1...1) == ["send 1 n1", "send 2 n3"])
        #expect(rig.tally.replaced == 0)
    }

    @Test("the latest of each app is left when a relay starts, whatever it kept before")
    mutating func restore() {
        #expect(rig.restore(1, Samples.notification(1, collapse: "a")) == [])
        #expect(rig.restore(2, Samples.notification(2)) == ["settle r1"])
        #expect(
            rig.restore(3, Samples.notification(3, to: Samples.second, topic: Samples.otherTopic)) == [])
        #expect(rig.restore(4, Samples.notification(4, collapse: "b")) == ["settle r2"])
        #expect(rig.tally.accepted == 4 && rig.tally.replaced == 2 && rig.tally.isBalanced)
        #expect(rig.connect() == ["load r3,r4"])
    }
}

@Suite("How much a device token takes")
struct PushAllowanceTests {
    private var rig = DeviceRig()

    @Test("is ten seconds' worth in a row, and then so many a second, for each token by itself")
    mutating func rate() {
        rig.rules.pushesPerSecond = 2
        for _ in 1...20 { #expect(rig.offer(nowOrNever: true).first?.hasPrefix("200") == true) }
        #expect(rig.offer() == ["429 s21"])
        #expect(rig.tally.accepted == 20)
        #expect(rig.offer(to: Samples.second) == ["store r22"])
        rig.now = rig.now.advanced(byMilliseconds: 499)
        #expect(rig.offer() == ["429 s23"])
        rig.now = rig.now.advanced(byMilliseconds: 1)
        #expect(rig.offer() == ["store r24"])
        #expect(rig.offer() == ["429 s25"])
        rig.now = rig.now.advanced(byMilliseconds: 3_600_000)
        for _ in 1...20 { #expect(rig.offer(nowOrNever: true).first?.hasPrefix("200") == true) }
        #expect(rig.offer() == ["429 s46"])
    }

    @Test("is as much as comes where nothing is set")
    mutating func unlimited() {
        rig.rules.pushesPerSecond = nil
        for _ in 1...Limits.pushesPerSecond * Limits.pushBurstSeconds + 1 {
            guard rig.offer(nowOrNever: true).first?.hasPrefix("200") == true else {
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
    private var rig = DeviceRig()
    private let day: Int64 = 24 * 60 * 60 * 1000

    @Test("expire so long after it was seen, and are good again when it returns")
    mutating func expiry() {
        rig.rules.expiryMilliseconds = 30 * day
        rig.now = Samples.now.advanced(byMilliseconds: 30 * day - 1)
        #expect(rig.offer() == ["store r1"])
        rig.now = Samples.now.advanced(byMilliseconds: 40 * day)
        #expect(rig.offer() == ["410 s2 since \(Samples.now.milliseconds + 30 * day)"])
        let isNews = rig.device.noteSeen(now: rig.now)
        #expect(isNews)
        _ = rig.connect()
        #expect(rig.offer().first == "store r3")
        rig.now = rig.now.advanced(byMilliseconds: 100 * day)
        #expect(rig.offer().first == "store r4", "a connected device is there")
        _ = rig.device.noteSeen(now: rig.now)
        _ = rig.disconnect()
        #expect(rig.offer() == ["store r5"])
    }

    @Test("never expire if nothing is set, and an unregistered token stays unregistered")
    mutating func never() {
        rig.now = Samples.now.advanced(byMilliseconds: 4000 * day)
        #expect(rig.offer() == ["store r1"])
        rig.rules.expiryMilliseconds = day
        _ = rig.apply(Samples.registration(unregisteredAt: Samples.now))
        #expect(rig.offer() == ["410 s2 since \(Samples.now.milliseconds)"])
        let verdict = rig.device.refusal(of: Samples.notification(1), rig.now, rig.rules)
        #expect(verdict == .rejected(.unregistered, since: Samples.now))
    }

    @Test("the registry is told once a day that a device was seen")
    mutating func sightings() {
        let isNews = [day - 1, day, day].map { later in
            rig.device.noteSeen(now: Samples.now.advanced(byMilliseconds: later))
        }
        #expect(isNews == [false, true, false])
        #expect(rig.device.record.seenAt == Samples.now.advanced(byMilliseconds: day))
    }
}

@Suite("What is refused by a device's home")
struct HomeOrderTests {
    @Test("is told in the contract's order: unknown, another app's, dead, too many")
    func order() {
        var rig = DeviceRig(registrations: [Samples.registration(unregisteredAt: Samples.now)])
        rig.rules.pushesPerSecond = 1
        rig.rules.expiryMilliseconds = 1
        rig.now = Samples.now.advanced(byMilliseconds: 1000)
        #expect(rig.offer(Samples.notification(1, to: RegistrationNumber(9))) == ["400 s1"])
        #expect(rig.offer(Samples.notification(2, topic: Samples.otherTopic)) == ["400 s2"])
        let since = "since \(Samples.now.milliseconds)"
        #expect(rig.offer(Samples.notification(3)) == ["410 s3 \(since)"])
    }

    @Test("is answered with the failure of the store, and settled")
    func storeFailure() {
        var rig = DeviceRig()
        _ = rig.offer()
        #expect(rig.failed(1, .internalServerError) == ["settle r1", "500 s1"])
    }
}

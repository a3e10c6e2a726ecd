import PostriderNotifications
import RelayFixtures
import Testing

@testable import PostriderDeviceQueue

@Suite("A push's life at its device")
struct DeviceTests {
    private var fixture = QueueFixture()

    // MARK: The 200

    @Test("an absent device's push is stored and then answered, and delivered from the disk")
    mutating func absent() {
        #expect(fixture.offer() == ["store r1"])
        #expect(fixture.committed(1) == ["200 s1"])
        #expect(fixture.connect() == ["load r1"])
        #expect(fixture.load(1...1) == ["send 1 n1"])
        #expect(fixture.acknowledge(1) == ["settle r1"])
        #expect(fixture.tally.delivered == 1 && fixture.device.pendingCount == 0)
    }

    @Test("an acknowledgement before the commit answers, and the commit's news is ignored")
    mutating func acknowledgedFirst() {
        #expect(fixture.connect() == [])
        #expect(fixture.offer() == ["store r1", "send 1 n1"])
        #expect(fixture.acknowledge(1) == ["settle r1", "200 s1"])
        #expect(fixture.committed(1) == [])
        #expect(fixture.failed(1) == [])
    }

    @Test("a commit before the acknowledgement answers, and the acknowledgement settles")
    mutating func committedFirst() {
        _ = fixture.connect()
        _ = fixture.offer()
        #expect(fixture.committed(1) == ["200 s1"])
        #expect(fixture.acknowledge(1) == ["settle r1"])
    }

    @Test("a failed commit refuses what is not in the device's hands")
    mutating func failedAbsent() {
        _ = fixture.offer()
        #expect(fixture.failed(1) == ["settle r1", "503 s1"])
        #expect(fixture.tally[.unstorable] == 1)
    }

    @Test("a failed commit leaves the answer to the acknowledgement, while there is hope of one")
    mutating func failedInFlight() {
        _ = fixture.connect()
        _ = fixture.offer()
        #expect(fixture.failed(1) == [])
        #expect(fixture.acknowledge(1) == ["200 s1"])
        _ = fixture.offer()
        #expect(fixture.failed(2) == [])
        #expect(fixture.disconnect() == ["503 s2"])
        #expect(fixture.tally[.unstorable] == 1 && fixture.tally.delivered == 1)
    }

    @Test("what was in flight and not committed when the device left is stored and comes again")
    mutating func leftBeforeCommit() {
        _ = fixture.connect()
        _ = fixture.offer()
        #expect(fixture.disconnect() == [])
        #expect(fixture.connect() == ["send 1 n1"])
        #expect(fixture.disconnect() == [])
        #expect(fixture.committed(1) == ["200 s1"])
        #expect(fixture.connect() == ["load r1"])
    }

    @Test("the same push again is another one when the first one's time is over, noticed or not")
    mutating func againTooLate() {
        #expect(fixture.offer(lifetime: 1_000, identity: 7) == ["store r1"])
        #expect(fixture.committed(1) == ["200 s1"])
        fixture.now = fixture.now.advanced(byMilliseconds: 1_000)
        #expect(fixture.offer(identity: 7) == ["settle r1", "store r2"])
        #expect(fixture.committed(2) == ["200 s2"])
        #expect(fixture.tally.expired == 1 && fixture.device.pendingCount == 1)
        #expect(fixture.connect() == ["load r2"])
    }

    @Test("now or never is answered at once, never stored, and gone with the connection")
    mutating func nowOrNever() {
        #expect(fixture.offer(nowOrNever: true) == ["200 s1"])
        #expect(fixture.tally.discarded == 1)
        _ = fixture.connect()
        #expect(fixture.offer(nowOrNever: true) == ["200 s2", "send 1 n2"])
        #expect(fixture.acknowledge(1) == [])
        #expect(fixture.offer(nowOrNever: true) == ["200 s3", "send 2 n3"])
        #expect(fixture.disconnect() == [])
        #expect(
            fixture.tally.discarded == 2 && fixture.tally.delivered == 1 && fixture.device.pendingCount == 0)
    }

    // MARK: Cancelling

    @Test("a cancelled push is settled and its provider answered; it does not come back with the device")
    mutating func cancelled() {
        #expect(fixture.cancel(1) == nil)
        _ = fixture.offer()
        #expect(fixture.cancel(1, of: Samples.second) == nil)
        #expect(fixture.cancel(1) == ["settle r1", "200 s1"])
        #expect(fixture.committed(1) == [])
        #expect(fixture.cancel(1) == nil)
        #expect(fixture.tally[.cancelled] == 1 && fixture.device.pendingCount == 0)
        #expect(fixture.connect() == [])
    }

    @Test("a cancelled push in flight is not sent again, and its acknowledgement changes nothing")
    mutating func cancelledInFlight() {
        _ = fixture.connect()
        _ = fixture.offer()
        _ = fixture.committed(1)
        #expect(fixture.cancel(1) == ["settle r1"])
        #expect(fixture.acknowledge(1) == [])
        #expect(fixture.tally[.cancelled] == 1 && fixture.tally.delivered == 0)
    }

    @Test("a cancelled push does not come back when the newer one that replaced it cannot be stored")
    mutating func cancelledAfterReplacement() {
        _ = fixture.offer(collapse: "c")
        _ = fixture.committed(1)
        _ = fixture.offer(collapse: "c")
        #expect(fixture.cancel(1) == ["settle r1"])
        #expect(fixture.failed(2) == ["settle r2", "503 s2"])
        #expect(fixture.device.pendingCount == 0)
    }

    // MARK: Collapse and resend

    @Test("an absent device's newer push replaces a stored one once it is durable itself")
    mutating func collapseStored() {
        _ = fixture.offer(collapse: "c")
        _ = fixture.committed(1)
        #expect(fixture.offer(collapse: "c") == ["store r2"])
        #expect(fixture.committed(2) == ["settle r1", "200 s2"])
        #expect(fixture.tally.replaced == 1 && fixture.device.pendingCount == 1)
        #expect(fixture.connect() == ["load r2"])
    }

    @Test("a push that replaced a promised one and cannot be stored gives it back")
    mutating func collapseFailed() {
        _ = fixture.offer(collapse: "c")
        _ = fixture.committed(1)
        _ = fixture.offer(collapse: "c")
        #expect(fixture.failed(2) == ["settle r2", "503 s2"])
        #expect(fixture.tally.replaced == 0 && fixture.tally.pending == 1 && fixture.tally[.unstorable] == 1)
        #expect(fixture.offer(collapse: "c") == ["store r3"])
        #expect(fixture.committed(3) == ["settle r1", "200 s3"])
    }

    @Test("a push that replaced a promised one in flight gives it back when it fails and the device leaves")
    mutating func collapseFailedInFlight() {
        _ = fixture.connect()
        #expect(fixture.offer(collapse: "c") == ["store r1", "send 1 n1"])
        _ = fixture.committed(1)
        #expect(fixture.offer(collapse: "c") == ["store r2", "send 2 n2"])
        #expect(fixture.failed(2) == [])
        #expect(fixture.offer(collapse: "c", nowOrNever: true) == ["200 s3", "send 3 n3"])
        #expect(fixture.disconnect() == ["503 s2"], "the older one comes back: this one is nowhere")
        #expect(fixture.connect() == ["load r1"])
        #expect(fixture.load(1...1) == ["send 1 n1"])
    }

    @Test("a push that replaced a promised one and reaches the device settles both")
    mutating func collapseAcknowledged() {
        _ = fixture.connect()
        _ = fixture.offer(collapse: "c")
        _ = fixture.committed(1)
        _ = fixture.offer(collapse: "c")
        #expect(fixture.acknowledge(1) == [])
        #expect(fixture.acknowledge(2) == ["settle r1", "settle r2", "200 s2"])
        #expect(fixture.tally.delivered == 1 && fixture.tally.replaced == 1)
    }

    @Test("an unanswered push that is replaced is answered with the newer one")
    mutating func collapseUnanswered() {
        _ = fixture.offer(collapse: "c")
        #expect(fixture.offer(collapse: "c") == ["store r2", "settle r1"])
        #expect(fixture.committed(1) == [])
        #expect(fixture.offer(collapse: "c") == ["store r3", "settle r2"])
        #expect(fixture.committed(2, 3) == ["200 s3", "200 s2", "200 s1"])
        #expect(fixture.tally.replaced == 2)
    }

    @Test("a chain of replacements keeps the promised one until the last is durable")
    mutating func collapseChain() {
        _ = fixture.offer(collapse: "c")
        _ = fixture.committed(1)
        _ = fixture.offer(collapse: "c")
        #expect(fixture.offer(collapse: "c") == ["store r3", "settle r2"])
        #expect(fixture.failed(3) == ["settle r3", "503 s3", "503 s2"])
        #expect(fixture.connect() == ["load r1"])
    }

    @Test("collapse identifiers of two apps have nothing to do with each other")
    mutating func collapseApps() {
        _ = fixture.offer(collapse: "c")
        #expect(fixture.offer(collapse: "c", to: Samples.second) == ["store r2"])
        #expect(fixture.device.pendingCount == 2)
    }

    @Test("now or never replaces nothing for a device that is not there")
    mutating func collapseNowOrNever() {
        _ = fixture.offer(collapse: "c")
        _ = fixture.committed(1)
        #expect(fixture.offer(collapse: "c", nowOrNever: true) == ["200 s2"])
        #expect(fixture.device.pendingCount == 1 && fixture.tally.discarded == 1)
    }

    @Test("a push that is sent again is one notification with two answers")
    mutating func resend() {
        _ = fixture.offer(identity: 7)
        #expect(fixture.offer(identity: 7) == [])
        #expect(fixture.committed(1) == ["200 s1", "200 s2"])
        #expect(fixture.offer(identity: 7) == ["200 s3"])
        #expect(fixture.offer(nowOrNever: true, identity: 7) == ["200 s4"])
        // Now or never is another value of a header, and so the push is not a repetition.
        #expect(
            fixture.device.pendingCount == 1 && fixture.tally.replaced == 2 && fixture.tally.discarded == 1)
        #expect(fixture.offer(identity: 7, to: Samples.second) == ["store r5"])
    }

    @Test("a push that is to be kept is another one than the same now or never, and is kept")
    mutating func resendToKeep() {
        _ = fixture.connect()
        _ = fixture.offer(nowOrNever: true, identity: 7)
        #expect(fixture.offer(identity: 7) == ["store r2", "send 2 n7"])
        #expect(fixture.disconnect() == [])
        #expect(fixture.committed(2) == ["200 s2"])
    }

    @Test("a push that is sent again after the store failed waits for the acknowledgement, too")
    mutating func resendInFlight() {
        _ = fixture.connect()
        _ = fixture.offer(identity: 7)
        _ = fixture.failed(1)
        #expect(fixture.offer(identity: 7) == [])
        #expect(fixture.acknowledge(1) == ["200 s1", "200 s2"])
    }

    // MARK: Refusals

    @Test("pushes to no registration, to another's topic and to a dead one are refused, and not counted")
    mutating func refusals() {
        #expect(fixture.offer(Samples.notification(1, to: RegistrationNumber(9))) == ["400 s1"])
        #expect(fixture.offer(Samples.notification(2, topic: Samples.otherTopic)) == ["400 s2"])
        _ = fixture.apply(Samples.registration(unregisteredAt: Moment(milliseconds: 5)))
        #expect(fixture.offer(Samples.notification(3)) == ["410 s3 since 5"])
        #expect(fixture.tally == Tally())
    }

    @Test("what is pending for an app that unregisters is dropped: in flight, stored and unanswered")
    mutating func unregister() {
        _ = fixture.connect()
        _ = fixture.offer()
        _ = fixture.committed(1)
        _ = fixture.offer()
        _ = fixture.offer(to: Samples.second)
        let gone = Samples.registration(unregisteredAt: Moment(milliseconds: 5))
        #expect(fixture.apply(gone) == ["settle r1", "settle r2", "410 s2 since 5"])
        #expect(fixture.acknowledge(1, 2, 3) == ["settle r3", "200 s3"])
        #expect(fixture.tally[.unregistered] == 2 && fixture.tally.delivered == 1)
        #expect(fixture.device.registrations.number(of: Samples.topic) == nil)
        #expect(fixture.device.registrations.nextNumber(in: .production) == RegistrationNumber(3))
    }

    @Test("an app that unregisters takes along what its pending ones replaced")
    mutating func unregisterDisplaced() {
        _ = fixture.offer(collapse: "c")
        _ = fixture.committed(1)
        _ = fixture.offer(collapse: "c")
        let gone = Samples.registration(unregisteredAt: Moment(milliseconds: 5))
        #expect(fixture.apply(gone) == ["settle r1", "settle r2", "410 s2 since 5"])
    }

    @Test("a device that is removed leaves nothing behind")
    mutating func remove() {
        _ = fixture.connect()
        _ = fixture.offer()
        _ = fixture.committed(1)
        _ = fixture.offer(to: Samples.second)
        #expect(fixture.remove() == ["settle r1", "settle r2", "400 s2"])
        #expect(fixture.tally[.removed] == 2 && fixture.device.link == nil)
    }
}

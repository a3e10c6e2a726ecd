import PostriderNotifications
import RelayFixtures
import Testing

@testable import PostriderDeviceQueue

@Suite("What a device tells the trace")
struct DeviceTraceTests {
    /// The end of a push and all trace records before it.
    struct Ending: CustomTestStringConvertible {
        let testDescription: String
        let notes: [String]
        let play: @Sendable (inout QueueFixture) -> Void

        init(_ name: String, _ notes: [String], _ play: @escaping @Sendable (inout QueueFixture) -> Void) {
            testDescription = name
            self.notes = notes
            self.play = play
        }
    }

    static let endings = [
        Ending("delivered at once", ["accepted r1", "sent r1", "acknowledged r1"]) { fixture in
            _ = fixture.connect()
            _ = fixture.offer()
            _ = fixture.acknowledge(1)
            _ = fixture.committed(1)
        },
        Ending("delivered from the disk", ["accepted r1", "stored r1", "sent r1", "acknowledged r1"]) {
            fixture in
            _ = fixture.offer()
            _ = fixture.committed(1)
            _ = fixture.connect()
            _ = fixture.load(1...1)
            _ = fixture.acknowledge(1)
        },
        Ending(
            "delivered over a second connection",
            ["accepted r1", "sent r1", "stored r1", "returned r1", "sent r1", "acknowledged r1"]
        ) { fixture in
            _ = fixture.connect()
            _ = fixture.offer()
            _ = fixture.committed(1)
            _ = fixture.disconnect()
            _ = fixture.connect()
            _ = fixture.load(1...1)
            _ = fixture.acknowledge(1)
        },
        Ending("replaced", ["accepted r1", "stored r1", "accepted r2", "replaced r1 2", "stored r2"]) {
            fixture in
            _ = fixture.offer(collapse: "c")
            _ = fixture.committed(1)
            _ = fixture.offer(collapse: "c")
            _ = fixture.committed(2)
        },
        Ending(
            "replaced by one that cannot be stored",
            ["accepted r1", "stored r1", "accepted r2", "replaced r1 2", "dropped r2 2", "recalled r1"]
        ) { fixture in
            _ = fixture.offer(collapse: "c")
            _ = fixture.committed(1)
            _ = fixture.offer(collapse: "c")
            _ = fixture.failed(2)
        },
        Ending("sent twice", ["accepted r1", "accepted r2", "merged r2 1"]) { fixture in
            _ = fixture.offer(identity: 7)
            _ = fixture.offer(identity: 7)
        },
        Ending("expired", ["accepted r1", "stored r1", "expired r1"]) { fixture in
            _ = fixture.offer(lifetime: 1000)
            _ = fixture.committed(1)
            _ = fixture.expire(afterMilliseconds: 2000)
        },
        Ending("now or never, and the device is away", ["accepted r1", "discarded r1"]) { fixture in
            _ = fixture.offer(nowOrNever: true)
        },
        Ending("now or never, and the device leaves", ["accepted r1", "sent r1", "discarded r1"]) { fixture in
            _ = fixture.connect()
            _ = fixture.offer(nowOrNever: true)
            _ = fixture.disconnect()
        },
        Ending("unregistered", ["accepted r1", "stored r1", "dropped r1 1"]) { fixture in
            _ = fixture.offer()
            _ = fixture.committed(1)
            _ = fixture.apply(Samples.registration(unregisteredAt: fixture.now))
        },
        Ending("removed with its device", ["accepted r1", "dropped r1 4"]) { fixture in
            _ = fixture.offer()
            _ = fixture.remove()
        },
        Ending("cancelled by its sender", ["accepted r1", "stored r1", "dropped r1 5"]) { fixture in
            _ = fixture.offer()
            _ = fixture.committed(1)
            _ = fixture.cancel(1)
        },
        Ending("not stored", ["accepted r1", "dropped r1 2"]) { fixture in
            _ = fixture.offer()
            _ = fixture.failed(1)
        },
        Ending("lost by the disk", ["accepted r1", "stored r1", "dropped r1 3"]) { fixture in
            _ = fixture.offer()
            _ = fixture.committed(1)
            _ = fixture.connect()
            _ = fixture.load(1...1, missing: [1])
        },
        Ending("refused", []) { fixture in
            _ = fixture.apply(Samples.registration(unregisteredAt: fixture.now))
            _ = fixture.offer()
        },
    ]

    @Test("is the whole life of a push", arguments: endings)
    func lives(_ ending: Ending) {
        var fixture = QueueFixture()
        ending.play(&fixture)
        #expect(fixture.notes == ending.notes)
    }

    @Test("is which push made room for one too many")
    func overflow() {
        var fixture = QueueFixture()
        for _ in 0...Limits.pendingPerRegistration { _ = fixture.offer() }
        #expect(fixture.notes.filter { $0.hasPrefix("dropped") } == ["dropped r1"])
    }

    @Test("is what a restart finds settled")
    func restart() {
        var fixture = QueueFixture()
        _ = fixture.restore(5, Samples.notification(5, collapse: "c"))
        _ = fixture.restore(6, Samples.notification(6, collapse: "c"))
        _ = fixture.restore(7, Samples.notification(7, to: RegistrationNumber(9)))
        #expect(fixture.notes == ["replaced r5 6", "dropped r7 1"])
    }

    @Test("names causes by numbers that stay")
    func causes() {
        #expect(
            Tally.Drop.allCases.map { "\($0) \($0.rawValue)" } == [
                "overflow 0", "unregistered 1", "unstorable 2", "unreadable 3", "removed 4", "cancelled 5",
            ])
        #expect(TraceEvent.Kind.allCases.map(\.rawValue) == Array(1...22))
    }
}

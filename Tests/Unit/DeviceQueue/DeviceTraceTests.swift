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
        let play: @Sendable (inout DeviceRig) -> Void

        init(_ name: String, _ notes: [String], _ play: @escaping @Sendable (inout DeviceRig) -> Void) {
            testDescription = name
            self.notes = notes
            self.play = play
        }
    }

    static let endings = [
        Ending("delivered at once", ["accepted r1", "sent r1", "acknowledged r1"]) { rig in
            _ = rig.connect()
            _ = rig.offer()
            _ = rig.acknowledge(1)
            _ = rig.committed(1)
        },
        Ending("delivered from the disk", ["accepted r1", "stored r1", "sent r1", "acknowledged r1"]) { rig in
            _ = rig.offer()
            _ = rig.committed(1)
            _ = rig.connect()
            _ = rig.load(1...1)
            _ = rig.acknowledge(1)
        },
        Ending(
            "delivered over a second connection",
            ["accepted r1", "sent r1", "stored r1", "returned r1", "sent r1", "acknowledged r1"]
        ) { rig in
            _ = rig.connect()
            _ = rig.offer()
            _ = rig.committed(1)
            _ = rig.disconnect()
            _ = rig.connect()
            _ = rig.load(1...1)
            _ = rig.acknowledge(1)
        },
        Ending("replaced", ["accepted r1", "stored r1", "accepted r2", "replaced r1 2", "stored r2"]) { rig in
            _ = rig.offer(collapse: "c")
            _ = rig.committed(1)
            _ = rig.offer(collapse: "c")
            _ = rig.committed(2)
        },
        Ending(
            "replaced by one that cannot be stored",
            ["accepted r1", "stored r1", "accepted r2", "replaced r1 2", "dropped r2 2", "recalled r1"]
        ) { rig in
            _ = rig.offer(collapse: "c")
            _ = rig.committed(1)
            _ = rig.offer(collapse: "c")
            _ = rig.failed(2)
        },
        Ending("sent twice", ["accepted r1", "accepted r2", "merged r2 1"]) { rig in
            _ = rig.offer(identity: 7)
            _ = rig.offer(identity: 7)
        },
        Ending("expired", ["accepted r1", "stored r1", "expired r1"]) { rig in
            _ = rig.offer(lifetime: 1000)
            _ = rig.committed(1)
            _ = rig.expire(afterMilliseconds: 2000)
        },
        Ending("now or never, and the device is away", ["accepted r1", "discarded r1"]) { rig in
            _ = rig.offer(nowOrNever: true)
        },
        Ending("now or never, and the device leaves", ["accepted r1", "sent r1", "discarded r1"]) { rig in
            _ = rig.connect()
            _ = rig.offer(nowOrNever: true)
            _ = rig.disconnect()
        },
        Ending("unregistered", ["accepted r1", "stored r1", "dropped r1 1"]) { rig in
            _ = rig.offer()
            _ = rig.committed(1)
            _ = rig.apply(Samples.registration(unregisteredAt: rig.now))
        },
        Ending("removed with its device", ["accepted r1", "dropped r1 4"]) { rig in
            _ = rig.offer()
            _ = rig.remove()
        },
        Ending("cancelled by its sender", ["accepted r1", "stored r1", "dropped r1 5"]) { rig in
            _ = rig.offer()
            _ = rig.committed(1)
            _ = rig.cancel(1)
        },
        Ending("not stored", ["accepted r1", "dropped r1 2"]) { rig in
            _ = rig.offer()
            _ = rig.failed(1)
        },
        Ending("lost by the disk", ["accepted r1", "stored r1", "dropped r1 3"]) { rig in
            _ = rig.offer()
            _ = rig.committed(1)
            _ = rig.connect()
            _ = rig.load(1...1, missing: [1])
        },
        Ending("refused", []) { rig in
            _ = rig.apply(Samples.registration(unregisteredAt: rig.now))
            _ = rig.offer()
        },
    ]

    @Test("is the whole life of a push", arguments: endings)
    func lives(_ ending: Ending) {
        var rig = DeviceRig()
        ending.play(&rig)
        #expect(rig.notes == ending.notes)
    }

    @Test("is which push made room for one too many")
    func overflow() {
        var rig = DeviceRig()
        for _ in 0...Limits.pendingPerRegistration { _ = rig.offer() }
        #expect(rig.notes.filter { $0.hasPrefix("dropped") } == ["dropped r1"])
    }

    @Test("is what a restart finds settled")
    func restart() {
        var rig = DeviceRig()
        _ = rig.restore(5, Samples.notification(5, collapse: "c"))
        _ = rig.restore(6, Samples.notification(6, collapse: "c"))
        _ = rig.restore(7, Samples.notification(7, to: RegistrationNumber(9)))
        #expect(rig.notes == ["replaced r5 6", "dropped r7 1"])
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

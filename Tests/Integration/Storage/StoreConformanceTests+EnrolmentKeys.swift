import PostriderNotifications
import PostriderStorage
import Testing

/// An enrolment of a device of this partition.
func enrolment(in partition: Int, _ number: UInt64 = 0, with key: UInt8 = 1) -> [RegistryChange] {
    let record = DeviceRecord(
        identity: device(in: partition, number), secretDigest: [9], name: "kiosk",
        enrolledAt: Moment(milliseconds: 5))
    return [.useEnrolmentKey(digest: [key], by: record.identity), .putDevice(record)]
}

/// The device of the first enrolment in this partition.
private func newcomer(_ partition: Int) -> DeviceIdentity { device(in: partition) }

/// An enrolment key that may be used so often.
func enrolmentKey(_ key: UInt8 = 1, uses: Int?) -> RegistryChange {
    .putEnrolmentKey(
        EnrolmentKeyRecord(name: "\(key)", digest: [key], addedAt: Moment(milliseconds: 1), uses: uses))
}

extension StoreConformanceTests {
    private func usedUp(_ fixture: StoreFixture, _ changes: [RegistryChange]) {
        let error = #expect(throws: StoreError.self) { try fixture.store.apply(changes) }
        #expect(error?.kind == .usedUp, "\(String(describing: error))")
    }

    @Test(
        "An enrolment key is used as often as it may, each time with its device", arguments: Engine.allCases)
    func enrolmentKeyUses(_ engine: Engine) throws {
        let fixture = try StoreFixture(engine)
        try fixture.store.apply([enrolmentKey(uses: 2), enrolmentKey(2, uses: nil)])
        for _ in 1...2 { try fixture.store.apply(enrolment(in: 1)) }
        #expect(try fixture.store.loadRegistry().enrolmentKeys.map(\.used) == [1, 0])
        // One of the two is too many, so neither is there.
        usedUp(fixture, enrolment(in: 2) + enrolment(in: 3))
        #expect(try fixture.store.loadRegistry().devices.map(\.identity) == [newcomer(1)])
        try fixture.store.apply(enrolment(in: 2))
        usedUp(fixture, enrolment(in: 3))
        usedUp(fixture, [.addTokenSecret([4])] + enrolment(in: 3))
        // The device was counted, so doing it again is no use.
        try fixture.store.apply(enrolment(in: 2))
        try fixture.store.apply(enrolment(in: 4, with: 2) + enrolment(in: 5, with: 2))
        try fixture.store.apply(enrolment(in: 6, with: 77))
        for _ in 1...2 {
            let registry = try fixture.store.loadRegistry()
            #expect(registry.enrolmentKeys.map(\.used) == [2, 2] && registry.tokenSecrets.isEmpty)
            #expect(Set(registry.devices.map(\.identity)) == Set([1, 2, 4, 5, 6].map { newcomer($0) }))
            try fixture.reopen()
        }
        // A removed device does not give its use back.
        try fixture.store.apply([.removeDevice(newcomer(1))])
        usedUp(fixture, enrolment(in: 3))
    }
}

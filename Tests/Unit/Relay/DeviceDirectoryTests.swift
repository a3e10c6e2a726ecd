import PostriderNotifications
import Testing

@testable import PostriderRelay

@Suite("The directory of devices")
struct DeviceDirectoryTests {
    private let fixture: DeviceFixture
    private let directory: DeviceDirectory

    init() throws {
        fixture = try DeviceFixture()
        directory = fixture.shard.directory
    }

    private func record(_ number: UInt64, _ name: String, at second: Int64 = 0) -> DeviceRecord {
        DeviceRecord(
            identity: DeviceIdentity(high: number, low: 1), secretDigest: [], name: name,
            enrolledAt: Moment(seconds: second))
    }

    private func enrol(_ number: UInt64, _ name: String, at second: Int64 = 0, _ tags: String = "") throws {
        directory.enrolled(record(number, name, at: second), try #require(DeviceTag.list(tags)))
        try fixture.run()
        try fixture.commit()
    }

    private func name(_ number: UInt64) -> String? {
        directory[DeviceIdentity(high: number, low: 1)]?.name.text
    }

    private func change(
        _ number: UInt64, _ change: DeviceDirectory.Change, isDurable: Bool = true
    ) throws -> Result<DirectoryEntry, DeviceDirectory.Refusal>? {
        var answer: Result<DirectoryEntry, DeviceDirectory.Refusal>?
        directory.change(DeviceIdentity(high: number, low: 1), change) { answer = $0 }
        try fixture.run()
        try fixture.commit(isDurable: isDurable)
        return answer
    }

    @Test("names a device as it calls itself, with a number behind it where another one has that name")
    func naming() throws {
        try enrol(1, "kiosk-7")
        try enrol(2, "Kiosk-7")
        try enrol(3, "kiosk-7")
        try enrol(4, "Küche 1")
        #expect([1, 2, 3, 4].map(name) == ["kiosk-7", "Kiosk-7-2", "kiosk-7-3", "K--che-1"])
        #expect(directory.find("KIOSK-7") == DeviceIdentity(high: 1, low: 1))
        #expect(directory.find("\(DeviceIdentity(high: 3, low: 1))") == DeviceIdentity(high: 3, low: 1))
        #expect(directory.find("kiosk-8") == nil)
        #expect(fixture.logged.contains { $0.text.contains("calls itself Kiosk-7, as device") })
    }

    @Test("gives nobody a name that another device has, and says whose it is")
    func taken() throws {
        try enrol(1, "a")
        try enrol(2, "b")
        let refusal = try change(2, .init(name: DeviceName("A")))
        guard case .failure(let reason)? = refusal else {
            return #expect(Bool(false), "\(String(describing: refusal))")
        }
        #expect(reason.status == 409 && reason.sentence.contains("is named A already"))
        #expect(try change(2, .init(name: DeviceName("c"))).map { try? $0.get().name.text } == "c")
        #expect(directory.find("b") == nil && name(2) == "c")
    }

    @Test("forgets a change that the disk has refused")
    func failure() throws {
        try enrol(1, "a", at: 0, "lobby")
        let refused = try change(
            1, .init(name: DeviceName("b"), added: [#require(DeviceTag("x"))]), isDurable: false)
        guard case .failure(let reason)? = refused else {
            return #expect(Bool(false), "\(String(describing: refused))")
        }
        #expect(reason.status == 503 && name(1) == "a" && directory.find("b") == nil)
        #expect(directory[DeviceIdentity(high: 1, low: 1)]?.label.tags.map(\.text) == ["lobby"])
    }

    @Test(
        "has a device that was installed anew take the name of the one that is removed, unless it was named")
    func heirs() throws {
        try enrol(1, "kiosk")
        try enrol(2, "kiosk")
        try enrol(3, "kiosk")
        _ = try change(2, .init(name: DeviceName("mine")))
        let heir = directory.removed(DeviceIdentity(high: 1, low: 1))
        #expect(heir?.name.text == "kiosk" && name(3) == "kiosk" && name(2) == "mine")
        #expect(
            directory.find("kiosk-3") == nil && directory.find("kiosk") == DeviceIdentity(high: 3, low: 1))
        #expect(directory.removed(DeviceIdentity(high: 3, low: 1)) == nil)
    }

    @Test("finds the device that has taken the place of one that is away, and takes no other machine for it")
    func successors() throws {
        try enrol(1, "kiosk", at: 10)
        try enrol(2, "kiosk", at: 100)
        try enrol(3, "kiosk", at: 200)
        try enrol(4, "other", at: 300)
        let absent = [1, 2, 3, 4].map { DeviceIdentity(high: $0, low: 1) }
        let found = directory.successors(of: [
            (absent[0], Moment(seconds: 50)), (absent[1], Moment(seconds: 250)),
            (absent[3], Moment(seconds: 1)),
        ])
        #expect(found == [absent[0]: absent[1]])
    }

    @Test("finds devices by their names and tags, and says of which there is none")
    func groups() throws {
        try enrol(1, "a", at: 0, "lobby")
        try enrol(2, "b", at: 0, "berlin lobby")
        try enrol(3, "c")
        func found(_ names: [String], _ tags: String) throws -> [UInt64] {
            let tags = Set(try #require(DeviceTag.list(tags)))
            return try directory.devices(named: names, tagged: tags).map(\.high).sorted()
        }
        #expect(try found([], "lobby") == [1, 2])
        #expect(try found(["c"], "berlin") == [2, 3])
        #expect(try found([], "nobody") == [])
        let refusal = #expect(throws: DeviceDirectory.Refusal.self) { try found(["d"], "") }
        #expect(refusal?.status == 404 && refusal?.sentence.hasPrefix("There is no device d") == true)
    }

    @Test("bounds the tags of a device and of all devices")
    func bounds() throws {
        try enrol(1, "a")
        let many = (0...Limits.tagsPerDevice).compactMap { DeviceTag("t\($0)") }
        let refused = try change(1, .init(added: many))
        guard case .failure(let reason)? = refused else {
            return #expect(Bool(false), "\(String(describing: refused))")
        }
        #expect(reason.status == 400 && reason.sentence.contains("\(Limits.tagsPerDevice) are the most"))
        for number in 0..<UInt64(Limits.tagsPerRelay / 25) {
            let tags = (0..<25).map { "n\(number)-\($0)" }.joined(separator: " ")
            try enrol(100 + number, "x", at: 0, tags)
        }
        try enrol(2, "b", at: 0, "one.too.many n0-0")
        #expect(directory[DeviceIdentity(high: 2, low: 1)]?.label.tags.map(\.text) == ["n0-0"])
        let last = try change(1, .init(added: [#require(DeviceTag("another"))]))
        guard case .failure(let full)? = last else {
            return #expect(Bool(false), "\(String(describing: last))")
        }
        #expect(full.sentence.contains("\(Limits.tagsPerRelay) are the most"))
        #expect(
            try change(1, .init(added: [#require(DeviceTag("n0-0"))])).map { (try? $0.get()) != nil } == true)
    }

    @Test("names the devices of an older store, oldest first, and keeps what has been given")
    func olderStore() throws {
        var registry = Registry()
        registry.devices = [record(1, "kiosk", at: 20), record(2, "kiosk", at: 10), record(3, "x", at: 5)]
        registry.labels = [
            DeviceLabel(device: DeviceIdentity(high: 3, low: 1), name: DeviceName("kiosk"), isGiven: true)
        ]
        directory.restore(registry)
        try fixture.run()
        #expect([1, 2, 3].map(name) == ["kiosk-3", "kiosk-2", "kiosk"])
        let kept = fixture.ledger.changes.compactMap {
            if case .putLabel(let label) = $0 { label.name?.text } else { nil }
        }
        #expect(kept == ["kiosk-2", "kiosk-3"])
    }
}

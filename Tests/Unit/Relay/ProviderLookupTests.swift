import PostriderNotifications
import PostriderProviderAPI
import RelayFixtures
import Testing

@testable import PostriderRelay

@Suite("A provider that looks up devices")
struct ProviderLookupTests {
    private let tag: DeviceTag

    init() throws { tag = try #require(DeviceTag("lobby")) }

    private func entry(_ name: String) -> DirectoryEntry {
        let record = DeviceRecord(
            identity: DeviceIdentity(high: UInt64(name.hashValue.magnitude), low: 1), secretDigest: [],
            name: name, enrolledAt: Samples.now)
        return DirectoryEntry(record, DeviceLabel(device: record.identity))
    }

    @Test("gets the names and device tokens of devices that it can name, and nothing of others")
    func answers() throws {
        let fixture = try ProviderFixture(lookups: LookupPermissions(keys: ["KEY0000001"]))
        fixture.label("kiosk-7", tag)
        for (query, isFound) in [
            ("tag=lobby", true), ("device=KIOSK-7", true), ("device=kiosk-7&tag=lobby", true),
            ("tag=kitchen", false), ("device=kiosk", false), ("tag=lobby&after=kiosk-7", false),
        ] {
            let stream = try fixture.lookUp("/3/tokens?" + query)
            try fixture.run()
            let answer = try #require(fixture.answers.all[stream])
            let device = #"{"name":"kiosk-7","token":"\#(Provider.deviceToken)"}"#
            #expect(answer.status == 200 && answer.body == #"{"devices":[\#(isFound ? device : "")]}"#)
        }
    }

    @Test("lists every device that has its app, if the operator has named its key for that")
    func all() throws {
        let fixture = try ProviderFixture(lookups: LookupPermissions(allKeys: ["KEY0000001"]))
        fixture.label("kiosk-7", tag)
        let device = #"{"name":"kiosk-7","token":"\#(Provider.deviceToken)"}"#
        for (query, found) in [
            ("all=true", device), ("all=true&after=kiosk-6", device), ("all=true&after=kiosk-7", ""),
            ("tag=lobby", device),
        ] {
            let stream = try fixture.lookUp("/3/tokens?" + query)
            try fixture.run()
            let answer = try #require(fixture.answers.all[stream])
            #expect(answer.status == 200 && answer.body == #"{"devices":[\#(found)]}"#, "\(query)")
        }
    }

    @Test("may not list every device because it may look up those that it names")
    func namesOnly() throws {
        let fixture = try ProviderFixture(
            lookups: LookupPermissions(keys: ["KEY0000001"], allKeys: ["OTHER"]))
        fixture.label("kiosk-7", tag)
        let stream = try fixture.lookUp("/3/tokens?all=true")
        try fixture.run()
        let answer = try #require(fixture.answers.all[stream])
        #expect(answer.status == 403 && answer.body == #"{"reason":"Forbidden"}"#)
    }

    @Test("finds no such path where the operator has named no key, and is refused where another one is named")
    func permission() throws {
        for (keys, status, reason) in [([], 405, "MethodNotAllowed"), (["OTHER"], 403, "Forbidden")] {
            let fixture = try ProviderFixture(lookups: LookupPermissions(keys: Set(keys as [String])))
            fixture.label("kiosk-7", tag)
            let stream = try fixture.lookUp("/3/tokens?tag=lobby")
            try fixture.run()
            let answer = try #require(fixture.answers.all[stream])
            #expect(answer.status == status && answer.body == #"{"reason":"\#(reason)"}"#)
        }
    }

    @Test("gets 429 when its key looks up too often, and goes on after a second")
    func pace() throws {
        let fixture = try ProviderFixture(lookups: LookupPermissions(keys: ["KEY0000001"]))
        var statuses: [Int?] = []
        for _ in 0...Limits.lookupRate.atOnce {
            let stream = try fixture.lookUp("/3/tokens?tag=lobby")
            try fixture.run()
            statuses.append(fixture.answers.status(stream))
            if statuses.last == 429 { #expect(fixture.answers.all[stream]?.fields["retry-after"] == "1") }
        }
        #expect(statuses == Array(repeating: 200, count: Limits.lookupRate.atOnce) + [429])
        fixture.advance(byMilliseconds: 1000)
        let later = try (0...Limits.lookupRate.perSecond).map { _ in try fixture.lookUp("/3/tokens?tag=lobby")
        }
        try fixture.run()
        #expect(
            later.map(fixture.answers.status) == Array(repeating: 200, count: Limits.lookupRate.perSecond) + [
                429
            ]
        )
    }

    @Test("gets every device once, part by part, by name")
    func parts() {
        let names = (0..<25).map { "Kiosk-\($0)" }
        var (got, sizes, after): ([String], [Int], DeviceName?) = ([], [], nil)
        repeat {
            var part = LookupPart(after: after, most: 10)
            for name in names.shuffled() { part.add(entry(name)) }
            let some = part.sorted()
            got += some.map(\.name.text)
            sizes.append(some.count)
            after = part.isCut ? some.last?.name : nil
        } while after != nil
        #expect(got == names.sorted() && sizes == [10, 10, 5])
    }

    @Test("is not told of another part if there is none")
    func lastPart() {
        var part = LookupPart(after: nil, most: 2)
        for name in ["b", "a"] { part.add(entry(name)) }
        #expect(part.sorted().map(\.name.text) == ["a", "b"] && !part.isCut)
    }
}

import PostriderNotifications
import Testing

@testable import PostriderRelay

@Suite("Which devices the operator asks for")
struct DeviceSelectionTests {
    private func presence(_ isConnected: Bool, since: Int64) -> DevicePresence {
        DevicePresence(isConnected: isConnected, since: Moment(milliseconds: since), address: "", agent: "")
    }

    @Test("are those that have been away for so long, and none that is connected")
    func away() throws {
        let filter = try DeviceSelection("away-for=300").filter
        let now = Moment(milliseconds: 1_000_000)
        #expect(filter.wants(presence(false, since: 700_000), now: now))
        #expect(!filter.wants(presence(false, since: 700_001), now: now))
        #expect(!filter.wants(presence(true, since: 0), now: now))
        let connected = try DeviceSelection("connected=true").filter
        #expect(connected.wants(presence(true, since: 0), now: now))
        #expect(!connected.wants(presence(false, since: 0), now: now))
        #expect(try DeviceSelection("").filter.wants(presence(true, since: 0), now: now))
    }

    @Test("are said in a query, and a mistake in it in one sentence")
    func mistakes() throws {
        let selection = try DeviceSelection("device=a&device=b&tag=lobby&topic=com.example.a&sort=name")
        #expect(selection.names == ["a", "b"] && selection.tags.map(\.text) == ["lobby"])
        #expect(selection.filter.topic == Topic("com.example.a") && selection.order == .name)
        let mistakes = [
            ("away-for=-1", "'away-for' is a number of seconds from 0 to"),
            ("away-for=5m", "'away-for' is a number"),
            ("connected=yes", "'connected' is true or false, not 'yes'."),
            ("tag=a%20b", "A tag is 1 to 63 letters"),
            ("topic=a/b", "A topic is a bundle identifier, not 'a/b'."),
            ("sort=size", "'sort' is one of enrolled, name, since, pending, not 'size'."),
            ("limit=0", "'limit' is a number of devices, at least 1, not '0'."),
            ("limit=few", "'limit' is a number of devices, at least 1, not 'few'."),
            ("color=red", "Devices are asked for with connected, away-for, device, tag"),
        ]
        for (query, sentence) in mistakes {
            let mistake = #expect(throws: DeviceSelection.Mistake.self) { try DeviceSelection(query[...]) }
            #expect(mistake?.sentence.hasPrefix(sentence) == true, "\(query)")
        }
    }

    @Test("come in the order that is asked for, by enrolment where that decides nothing")
    func order() throws {
        func device(_ name: String, _ enrolled: Int64, since: Int64, pending: Int) -> Control.Device {
            Control.Device(
                identity: "\(enrolled)", name: name, tags: [], enrolledAt: enrolled, isConnected: false,
                since: since, pending: pending, registrations: [])
        }
        let devices = [
            device("c", 2, since: 5, pending: 0), device("a", 3, since: 9, pending: 7),
            device("b", 1, since: 5, pending: 0),
        ]
        func names(_ query: Substring) throws -> [String] {
            try DeviceSelection(query).sorted(devices).map(\.name)
        }
        #expect(try names("") == ["b", "c", "a"])
        #expect(try names("sort=name") == ["a", "b", "c"])
        #expect(try names("sort=since") == ["b", "c", "a"])
        #expect(try names("sort=pending") == ["a", "b", "c"])
        #expect(try names("sort=name&limit=2") == ["a", "b"])
        #expect(try names("limit=4") == ["b", "c", "a"])
    }
}

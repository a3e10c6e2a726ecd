import Foundation
import PostriderSeededRandom
import Testing

@testable import PostriderSchedules

@Suite("The clocks of a time zone")
struct ZoneRulesTests {
    /// Zones of every kind: summer time in both halves of the year, no summer time, half hours, a skipped day, names
    /// with three words, and negative summer time in winter (Europe/Dublin).
    static let names = [
        "Europe/Berlin", "Europe/Dublin", "America/New_York", "America/St_Johns", "America/Sao_Paulo",
        "America/Argentina/Buenos_Aires", "Asia/Kolkata", "Asia/Tehran", "Australia/Lord_Howe",
        "Australia/Sydney", "Pacific/Apia", "Pacific/Chatham", "Africa/Casablanca", "Antarctica/Troll",
        "America/Nuuk", "Etc/GMT+9", "Asia/Kathmandu",
    ]

    @Test("They are as far ahead of Greenwich as Foundation says, from 1971 to 2036", arguments: names)
    func offsets(name: String) throws {
        let rules = try #require(ZoneDirectory().rules(named: name))
        let zone = try #require(TimeZone(identifier: name))
        var random = SplitMix64(seed: 30)
        for _ in 0..<2000 {
            let moment = Int.random(in: 31_536_000...2_082_758_400, using: &random)
            let expected = zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(moment)))
            #expect(rules.offset(at: moment) == expected, "\(name) at \(moment)")
        }
    }

    @Test("The rule at a file's end holds for as long as clocks are looked at")
    func farAhead() throws {
        let berlin = try #require(ZoneDirectory().rules(named: "Europe/Berlin"))
        // The times are 2199-01-15 and 2199-07-15.
        #expect(berlin.offset(at: 7_227_835_200) == 3600)
        #expect(berlin.offset(at: 7_243_473_600) == 7200)
    }

    @Test("A fixed distance from Greenwich has a name")
    func fixed() {
        let directory = ZoneDirectory()
        let expected = [
            "GMT": 0, "UTC": 0, "GMT+2": 7200, "GMT-02": -7200, "GMT+0530": 19_800, "GMT-013015": -5415,
        ]
        for (name, offset) in expected {
            #expect(directory.rules(named: name)?.offset(at: 0) == offset, "\(name)")
        }
        for name in ["GMT+", "GMT+19", "GMT+1:30", "GMT+0560", "GMT+00000", "GMT+١"] {
            #expect(directory.rules(named: name) == nil, "\(name)")
        }
    }

    @Test("A name that leads out of the folder of zones is no zone's")
    func namesOutside() throws {
        let folder = try Folder()
        let zones = folder.path + "/zones"
        try FileManager.default.createDirectory(atPath: zones, withIntermediateDirectories: false)
        let berlin = try Data(contentsOf: URL(filePath: "/usr/share/zoneinfo/Europe/Berlin"))
        try berlin.write(to: URL(filePath: folder.path + "/outside"))
        try berlin.write(to: URL(filePath: zones + "/inside"))
        let directory = ZoneDirectory(zones: zones)
        #expect(directory.rules(named: "inside")?.offset(at: 0) == 3600)
        for name in [
            "../outside", "/outside", "", ".", "inside/", "a//b", folder.path + "/outside", "in\u{0}side",
        ] {
            #expect(directory.rules(named: name) == nil, "\(name)")
        }
    }

    @Test("The machine's zone is that of the link, or of the name beside a copy, or of the copy itself")
    func current() throws {
        let folder = try Folder()
        let (zones, local) = ("/usr/share/zoneinfo", folder.path + "/localtime")
        let directory = ZoneDirectory(zones: zones, configuration: folder.path)
        #expect(directory.current == .gmt)
        try FileManager.default.copyItem(atPath: zones + "/Asia/Tokyo", toPath: local)
        #expect(directory.current.identifier == "localtime")
        #expect(directory.current.offset(at: 0) == 32_400)
        try Data("Asia/Tokyo\n".utf8).write(to: URL(filePath: folder.path + "/timezone"))
        #expect(directory.current.identifier == "Asia/Tokyo")
        try FileManager.default.removeItem(atPath: local)
        try FileManager.default.createSymbolicLink(
            atPath: local, withDestinationPath: "../usr/share/zoneinfo/Europe/Rome")
        #expect(directory.current.identifier == "Europe/Rome")
        #expect(directory.current.offset(at: 0) == 3600)
    }

    @Test("A rule for every year says when summer begins and ends")
    func posix() throws {
        // The times are 2026-01-15, 2026-07-15, and the seconds around the change of 2026-03-29 in Berlin.
        let (winter, summer, change) = (1_768_478_400, 1_784_116_800, 1_774_746_000)
        let berlin = try #require(PosixZone("CET-1CEST,M3.5.0,M10.5.0/3"))
        #expect(
            [winter, change - 1, change, summer].map(berlin.offset) == [3600, 3600, 7200, 7200])
        let south = try #require(PosixZone("<+1030>-10:30<+11>-11,M10.1.0,M4.1.0"))
        #expect([winter, summer].map(south.offset) == [39_600, 37_800])
        // RFC 9636, 3.3.1: a summer that never ends.
        let always = try #require(PosixZone("XXX3EDT4,0/0,J365/23"))
        #expect([winter, change, summer].map(always.offset) == [-14_400, -14_400, -14_400])
        #expect(PosixZone("<-02>2<-01>,M3.5.0/-1,M10.5.0/0")?.offset(at: summer) == -3600)
        for text in [
            "", "C", "CET", "CET-25", "CET-1CEST", "CET-1CEST,M3.5.0", "CET-1CEST,M13.5.0,M10.5.0", "<CET",
        ] {
            #expect(PosixZone(text) == nil, "\(text)")
        }
    }

    @Test("A file that is cut or damaged is no zone's, or another's, and never a crash")
    func damage() throws {
        let whole = Array(try Data(contentsOf: URL(filePath: "/usr/share/zoneinfo/Europe/Berlin")))
        for length in 0..<whole.count - 1 {
            #expect(ZoneFile.rules(named: "cut", Array(whole.prefix(length))) == nil)
        }
        var random = SplitMix64(seed: 31)
        for _ in 0..<5000 {
            var bytes = whole
            for _ in 0...Int.random(in: 0...3, using: &random) {
                bytes[Int.random(in: bytes.indices, using: &random)] = .random(in: 0...255, using: &random)
            }
            let rules = ZoneFile.rules(named: "damaged", bytes)
            let moment = Int.random(in: -5_000_000_000...8_000_000_000, using: &random)
            #expect((-100_000...100_000).contains(rules?.offset(at: moment) ?? 0))
        }
    }
}

/// A folder that is removed with its last reference.
private final class Folder {
    let path = FileManager.default.temporaryDirectory.appending(path: "postrider-zones-\(UUID())").path

    init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }

    deinit { try? FileManager.default.removeItem(atPath: path) }
}

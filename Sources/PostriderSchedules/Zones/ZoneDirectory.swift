internal import FoundationEssentials
import PostriderNotifications

/// The time zones of this machine: the files of its distribution's time zone package (`tzdata`).
///
/// Files are read each time, so that a new version of the package takes effect at once.
public struct ZoneDirectory: Sendable {
    private let zones: String
    private let configuration: String

    /// - Parameters:
    ///   - zones: the folder of zone files.
    ///   - configuration: the folder of `localtime` (localtime(5)) and `timezone`.
    public init(zones: String = "/usr/share/zoneinfo", configuration: String = "/etc") {
        self.zones = zones
        self.configuration = configuration
    }

    /// The most bytes that are read of a zone file; none has as many.
    private static let mostBytes = 1 << 20

    /// The zone with a name: "Europe/Berlin", "UTC", or a fixed offset such as "GMT+0200", as Foundation writes it
    /// for `TimeZone(secondsFromGMT:)`.
    ///
    /// - Returns: nil if this machine has no such zone.
    public func rules(named identifier: String) -> ZoneRules? {
        // An app chooses the name, which must not lead out of the folder.
        guard Self.isPlain(identifier) else { return nil }
        return Self.fixed(identifier) ?? rules(in: "\(zones)/\(identifier)", named: identifier)
    }

    /// The zone of this machine; GMT if it has none.
    public var current: ZoneRules {
        let file = "\(configuration)/localtime"
        if let target = try? FileManager.default.destinationOfSymbolicLink(atPath: file),
            let name = target.firstRange(of: "zoneinfo/").map({ target[$0.upperBound...] }),
            let rules = rules(named: String(name))
        {
            return rules
        }
        // Some images have a copy of the file instead of a link, and its name in Debian's file `timezone`.
        let name = Self.bytes(of: "\(configuration)/timezone").map { String(decoding: $0, as: UTF8.self) }
        if let name = name?.split(whereSeparator: \.isWhitespace).first,
            let rules = rules(named: String(name))
        {
            return rules
        }
        return rules(in: file, named: "localtime") ?? .gmt
    }

    private func rules(in file: String, named identifier: String) -> ZoneRules? {
        Self.bytes(of: file).flatMap { ZoneFile.rules(named: identifier, $0) }
    }

    /// Whether a name consists of words separated by slashes and cannot lead to another folder.
    private static func isPlain(_ identifier: String) -> Bool {
        identifier.utf8.count <= 255
            && identifier.split(separator: "/", omittingEmptySubsequences: false).allSatisfy { word in
                !word.isEmpty && word.first != "."
                    && word.utf8.allSatisfy { $0.isLetterOrDigit || "+-_.".utf8.contains($0) }
            }
    }

    /// Reads "GMT" or "UTC", or "GMT" with a sign and `h`, `hh`, `hhmm` or `hhmmss`.
    private static func fixed(_ identifier: String) -> ZoneRules? {
        if identifier == "GMT" || identifier == "UTC" { return ZoneRules(identifier, offset: 0) }
        guard identifier.hasPrefix("GMT"), let sign = identifier.dropFirst(3).first,
            sign == "+" || sign == "-"
        else { return nil }
        let digits = identifier.dropFirst(4)
        guard let value = Int(digits), digits.allSatisfy(\.isWholeNumber) else { return nil }
        let (hours, minutes, seconds) =
            switch digits.count {
            case 1, 2: (value, 0, 0)
            case 4: (value / 100, value % 100, 0)
            case 6: (value / 10_000, value / 100 % 100, value % 100)
            default: (-1, 0, 0)
            }
        guard 0...18 ~= hours, minutes < 60, seconds < 60 else { return nil }
        let distance = hours * 3600 + minutes * 60 + seconds
        return ZoneRules(identifier, offset: sign == "-" ? -distance : distance)
    }

    private static func bytes(of file: String) -> [UInt8]? {
        // Opening a named pipe instead of a file would block.
        let resolved = URL(filePath: file).resolvingSymlinksInPath().path
        guard let attributes = try? FileManager.default.attributesOfItem(atPath: resolved),
            attributes[.type] as? FileAttributeType == .typeRegular,
            let data = FileManager.default.contents(atPath: resolved), data.count <= mostBytes
        else { return nil }
        return Array(data)
    }
}

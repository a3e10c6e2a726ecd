import FoundationEssentials
import PostriderNotifications

/// A unit file of systemd with its drop-ins (systemd.unit(5)), as far as `postrider doctor` reads it.
package struct ServiceUnit {
    /// The path of the unit file.
    package let path: String
    /// The most open files of the service.
    package let descriptors: Int

    /// Where units are, the most important folder first.
    package static let folders = [
        "/etc/systemd/system", "/run/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system",
    ]

    /// systemd's own limit, if neither the unit nor its administrator sets one (DefaultLimitNOFILE= since version 240).
    private static let usualDescriptors = 524_288

    /// The unit of this name; nil if there is none, or it does not start a service with this configuration file.
    package init?(_ name: String, with configuration: String, in folders: [String] = Self.folders) {
        let files = FileManager.default
        func text(_ path: String) -> String? {
            files.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) }
        }
        guard let folder = folders.first(where: { text("\($0)/\(name)") != nil }) else { return nil }
        path = "\(folder)/\(name)"
        // A drop-in of a more important folder hides one of the same name.
        var dropIns: [String: String] = [:]
        for folder in folders.reversed() {
            let names = (try? files.contentsOfDirectory(atPath: "\(folder)/\(name).d")) ?? []
            for file in names where file.hasSuffix(".conf") { dropIns[file] = "\(folder)/\(name).d/\(file)" }
        }
        let paths = [path] + dropIns.sorted { $0.key < $1.key }.map(\.value)
        var (start, limit) = ("", Self.usualDescriptors)
        for line in paths.compactMap(text).joined(separator: "\n").split(separator: "\n").map(\.trimmed) {
            if let value = Self.value(of: "ExecStart", in: line) {
                start = value.isEmpty ? "" : start + " " + value
            }
            if let value = Self.value(of: "LimitNOFILE", in: line) { limit = Self.limit(value) ?? limit }
        }
        guard start.split(separator: " ").contains(where: { $0.trimmed == configuration }) else { return nil }
        descriptors = limit
    }

    private static func value(of key: String, in line: String) -> String? {
        let parts = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        return parts.count == 2 && parts[0].trimmed == key ? parts[1].trimmed : nil
    }

    /// The hard limit of `NUMBER`, `SOFT:HARD` or `infinity`: a service raises its own soft limit to it.
    private static func limit(_ text: String) -> Int? {
        let hard = text.split(separator: ":").last.map(String.init) ?? ""
        return hard == "infinity" ? .max : Int(hard)
    }
}

extension Machine {
    /// This machine, with the limits of the unit that runs a service with this configuration file, if there is one.
    package init(unit name: String, configuration: String, folders: [String] = ServiceUnit.folders) {
        self.init()
        guard let unit = ServiceUnit(name, with: configuration, in: folders) else { return }
        descriptors = unit.descriptors
        self.unit = unit.path
    }
}

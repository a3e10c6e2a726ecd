import FoundationEssentials
import PostriderLoad
import PostriderNotifications
import PostriderOptions
import PostriderTransport

/// The options that say where the server is, and on which processors the load runs.
extension LoadArguments {
    static func place(_ options: ParsedOptions) throws -> Place {
        let target = options.string("target")
        let folder = options.string("directory")
        guard target == nil || folder == nil && !options.isSet("relay") else {
            throw options.error("--target and --directory or --relay name two servers; give one of them")
        }
        try checkBelongings(options)
        if let target {
            guard options.isSet("provider-only") else {
                throw options.error("--target takes --provider-only: devices need --directory or --relay")
            }
            let prefix = "https://"
            return .providerOnly(
                target.hasPrefix(prefix) ? String(target.dropFirst(prefix.count)) : target,
                tokens: options.string("tokens"))
        }
        if let relay = options.string("relay") {
            guard folder == nil else {
                throw options.error("--relay and --directory name two relays; give one of them")
            }
            return .relay(
                provider: relay, device: try options.requiredString("device-relay"),
                control: try ControlAddress.find(options))
        }
        guard let folder else {
            return .own(
                folder: options.string("relay-directory"), settings: try relaySettings(options),
                processors: options.string("relay-processors"))
        }
        guard let values = try DevValues.read(from: DevFolder(folder)) else {
            throw options.withoutDev(in: folder)
        }
        return .dev(values)
    }

    /// Refuses options that apply only to another kind of server. If they were ignored, the figures would be of
    /// something other than what the user asked for.
    private static func checkBelongings(_ options: ParsedOptions) throws {
        let place = ["target", "relay", "directory"].first(where: options.isSet)
        for (names, places) in [
            (
                [
                    "provider-only", "tokens", "topic", "key-file", "key-id", "team-id", "certificate",
                    "private-key",
                ], ["target"]
            ),
            (["device-relay", "control", "config"], ["relay"]),
            (["keep-devices"], ["directory"]),
            (["ca", "server-name", "process"], ["target", "relay"]),
        ] where !places.contains(place ?? "") {
            guard let name = names.first(where: options.isSet) else { continue }
            let homes = places.map { "--\($0)" }.joined(separator: " or ")
            throw options.error("--\(name) goes with \(homes); name the server")
        }
        let own = ["relay-directory", "relay-setting", "relay-processors"]
        if let place, let name = own.first(where: options.isSet) {
            throw options.error("--\(name) is for a relay of its own; leave out --\(place) or this")
        }
        try checkCompanions(options)
    }

    /// Refuses options that have no effect together with, or without, certain others.
    private static func checkCompanions(_ options: ParsedOptions) throws {
        for (names, other) in [
            (["apps", "sources", "connect-rate", "absent"], "provider-only"), (["devices"], "tokens"),
        ] where options.isSet(other) {
            guard let name = names.first(where: options.isSet) else { continue }
            throw options.error("--\(name) says nothing with --\(other); leave it out")
        }
        if !options.isSet("key-file"), let name = ["key-id", "team-id"].first(where: options.isSet) {
            throw options.error("--\(name) goes with --key-file; name the key")
        }
    }

    /// The settings of the relay that is started. They lift the limits for many devices at one address, so that a run
    /// does not measure these limits by accident.
    private static func relaySettings(_ options: ParsedOptions) throws -> [String] {
        var settings = ["source-rate": "1000000", "source-connections": "1000000", "pushes-per-second": "0"]
        for text in options.list("relay-setting") {
            guard let sign = text.firstIndex(of: "="), sign > text.startIndex else {
                throw options.error("--relay-setting must be NAME=VALUE, such as shards=1, not '\(text)'")
            }
            settings[String(text[..<sign])] = String(text[text.index(after: sign)...])
        }
        return settings.sorted { $0.key < $1.key }.flatMap { ["--\($0.key)", $0.value] }
    }

    static func processors(_ options: ParsedOptions) throws -> [Int] {
        guard let text = options.string("processors") else { return [] }
        let numbers = text.split(separator: ",", omittingEmptySubsequences: false).map { Int($0) }
        guard numbers.allSatisfy({ ($0 ?? -1) >= 0 }) else {
            throw options.error("--processors must be numbers of processors such as 1 or 2,3, not '\(text)'")
        }
        // Worker threads fall back to any processor if theirs does not exist, and the figures would be of something
        // else.
        let usable = usableProcessors
        if let number = numbers.compactMap(\.self).first(where: { usable?.contains($0) == false }) {
            throw options.error("--processors: \(number) is no processor that this process may use")
        }
        return numbers.compactMap(\.self)
    }

    /// The processors that the kernel lets this process run on, read from a list such as `0-3,8`; nil if the kernel
    /// does not tell.
    private static var usableProcessors: Set<Int>? {
        let name = "Cpus_allowed_list:"
        let status = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let lines = status?.split(separator: "\n") ?? []
        guard let line = lines.first(where: { $0.hasPrefix(name) }) else { return nil }
        var numbers: Set<Int> = []
        for part in line.dropFirst(name.count).split(whereSeparator: { $0 == "," || $0.isWhitespace }) {
            let ends = part.split(separator: "-").compactMap { Int($0) }
            guard let first = ends.first, let last = ends.last, first <= last else { return nil }
            numbers.formUnion(first...last)
        }
        return numbers
    }
}

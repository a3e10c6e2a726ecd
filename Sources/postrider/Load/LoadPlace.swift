import FoundationEssentials
import PostriderCommands
import PostriderLoad
import PostriderNotifications
import PostriderOptions
import PostriderTransport

/// The server that the load is for.
enum LoadPlace: Equatable {
    /// A relay that is started for the run, with these settings, and a file of rules for its pushes.
    case own(folder: String?, settings: [String], processors: String?, scenario: String?)
    /// The relay of `postrider dev` in a folder.
    case dev(DevValues)
    /// A running relay: the addresses for providers and for devices, and the control socket through which
    /// credentials are made.
    case relay(provider: String, device: String, control: SocketAddress)
    /// Any server with the APNs provider API: its address, and a file with device tokens.
    case providerOnly(String, tokens: String?)

    /// Whether the fleet has devices on this server.
    var hasDevices: Bool { if case .providerOnly = self { false } else { true } }

    /// Reads the options that say where the server is.
    init(_ options: ParsedOptions) throws {
        let target = options.string("target")
        let folder = options.string("directory")
        guard target == nil || folder == nil && !options.isSet("relay") else {
            throw options.error("--target and --directory or --relay name two servers; give one of them")
        }
        try Self.checkBelongings(options)
        if let target {
            guard options.isSet("provider-only") else {
                throw options.error("--target takes --provider-only: devices need --directory or --relay")
            }
            let prefix = "https://"
            self = .providerOnly(
                target.hasPrefix(prefix) ? String(target.dropFirst(prefix.count)) : target,
                tokens: options.string("tokens"))
            return
        }
        if let relay = options.string("relay") {
            guard folder == nil else {
                throw options.error("--relay and --directory name two relays; give one of them")
            }
            self = .relay(
                provider: relay, device: try options.requiredString("device-relay"),
                control: try ControlAddress.find(options))
            return
        }
        guard let folder else {
            self = .own(
                folder: options.string("relay-directory"), settings: try Self.relaySettings(options),
                processors: options.string("relay-processors"), scenario: try Self.scenario(options))
            return
        }
        guard let values = try DevValues.read(from: DevFolder(folder)) else {
            throw options.withoutDev(in: folder)
        }
        self = .dev(values)
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
        let own = ["relay-directory", "relay-setting", "relay-processors", "scenario"]
        if let place, let name = own.first(where: options.isSet) {
            throw options.error("--\(name) is for a relay of its own; leave out --\(place) or this")
        }
        try checkCompanions(options)
    }

    /// Refuses options that have no effect together with, or without, certain others.
    private static func checkCompanions(_ options: ParsedOptions) throws {
        for (names, other) in [
            (["apps", "sources", "connect-rate", "absent", "tag"], "provider-only"), (["devices"], "tokens"),
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

    /// The file of rules for the relay that is started. Its mistakes are reported before the run.
    private static func scenario(_ options: ParsedOptions) throws -> String? {
        guard let file = options.string("scenario") else { return nil }
        _ = try DevBench.rules(file)
        return file
    }
}

import FoundationEssentials
import PostriderNotifications
import PostriderOptions
import PostriderRelay
import PostriderTransport

/// One recipient of a push.
struct SendTarget: Sendable, Equatable {
    /// The device token.
    let token: String
    /// The name of the device; nil if the user gave the token.
    var name: String?
}

/// The devices that a push goes to: given by name, by tag, or all of them. The relay's control socket knows their
/// device tokens.
struct SendGroup {
    private let names: [String]
    private let tags: [String]
    private let isAll: Bool

    /// The options of `postrider send` that select the group.
    static let options: [Option] = [
        .list("device", "NAME", "A device, by its name or identity, in place of DEVICE-TOKEN."),
        .list("tag", "TAG", "All devices with this tag; if repeated, those with one of the tags."),
        .flag("all", "All devices with the app of --topic."),
    ]

    /// Parses the options; nil if the devices are given by tokens, or the push goes to channels.
    init?(_ options: ParsedOptions) throws {
        names = try options.list("device").map { name throws(UsageError) in try options.checked(name) }
        tags = try options.list("tag").map { tag throws(UsageError) in try options.tag(tag) }
        isAll = options.isSet("all")
        guard isAll || !names.isEmpty || !tags.isEmpty else { return nil }
        guard options.operands.isEmpty, options.list("token").isEmpty, options.list("channel").isEmpty else {
            throw options.error(
                "a push goes to device tokens, to channels, or to devices by --device, --tag or --all; "
                    + "give one of them"
            )
        }
        guard !isAll || names.isEmpty && tags.isEmpty else {
            throw options.error("--all is every device already; leave out --device and --tag")
        }
        guard !isAll || options.isSet("topic") else {
            throw options.error("--topic is missing; --all is every device that has this app")
        }
    }

    /// Asks the relay for the device tokens.
    ///
    /// - Throws: ``CommandFailure`` if a device is missing or has not registered the app, or if the group is empty.
    func targets(of topic: Topic, _ control: ControlClient) async throws -> [SendTarget] {
        let query =
            (names.map { "device=\($0)" } + tags.map { "tag=\($0)" } + ["topic=\(topic.text)", "sort=name"])
        let path = "/v1/devices?" + query.joined(separator: "&")
        let devices = try await control.list(path, of: [Control.Device].self).item
        for name in names {
            let isThere = devices.contains {
                $0.identity.lowercased() == name.lowercased()
                    || $0.name.lowercased() == name.lowercased()
            }
            guard isThere else {
                throw CommandFailure(
                    "Device \(name) has no app \(topic.text): 'postrider devices list' shows its apps."
                )
            }
        }
        guard !devices.isEmpty else {
            let group =
                isAll ? "No device has" : "No device with the tag \(tags.joined(separator: " or ")) has"
            throw CommandFailure(
                "\(group) the app \(topic.text): 'postrider devices list' shows tags and apps.")
        }
        return devices.flatMap { device in
            device.registrations.map { SendTarget(token: $0.token, name: device.name) }
        }
    }

    /// The relay's control socket, found as `--wait` finds it.
    static func control(_ options: ParsedOptions) throws -> ControlClient {
        ControlClient(address: try ControlAddress.find(options))
    }
}

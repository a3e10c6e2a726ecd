import FoundationEssentials
import PostriderClients
import PostriderCommands
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

/// The devices that a push goes to: given by name, by tag, or all of them. The relay knows their device tokens: it is
/// asked on its control socket, or, if it lets the provider's key look up devices, on its port for providers.
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
        guard control.gaps.areNone || tags.isEmpty && !isAll else {
            throw CommandFailure("Nothing was sent, because some devices are not known: try again.")
        }
        try check(Set(devices.flatMap { [$0.identity.lowercased(), $0.name.lowercased()] }), topic)
        return devices.flatMap { device in
            device.registrations.map { SendTarget(token: $0.token, name: device.name) }
        }
    }

    /// Checks that each named device was found, and any device at all.
    ///
    /// - Parameter found: the names and identities of the devices, in lower case.
    private func check(_ found: Set<String>, _ topic: Topic) throws {
        for name in names where !found.contains(name.lowercased()) {
            throw CommandFailure(
                "Device \(name) has no app \(topic.text): 'postrider devices list' shows its apps.")
        }
        guard found.isEmpty else { return }
        let group = isAll ? "No device has" : "No device with the tag \(tags.joined(separator: " or ")) has"
        throw CommandFailure(
            "\(group) the app \(topic.text): 'postrider devices list' shows tags and apps.")
    }

    // MARK: With a provider's key

    /// Whether the options name the relay's port for providers, and no control socket.
    static func namesProviderPort(_ options: ParsedOptions) -> Bool {
        let isNamed = options.isSet("relay") || options.isSet("host")
        return isNamed && !options.isSet("control") && !options.isSet(Settings.fileOption.name)
    }

    private struct Found: Decodable {
        struct Device: Decodable {
            let name: String
            let token: String
        }

        let devices: [Device]
        let next: String?
    }

    /// Looks up the device tokens as a provider.
    ///
    /// - Throws: ``CommandFailure`` as the other method, or if the relay does not let the key look up devices.
    func targets(of topic: Topic, at relay: Server, as signer: ProviderTokenMaker) async throws
        -> [SendTarget]
    {
        let words =
            isAll ? ["all=true"] : names.map { "device=\($0)" } + tags.map { "tag=\($0)" }
        let request = ProviderRequest(relay: relay, signer: signer, topic: topic)
        var devices: [Found.Device] = []
        var next: String?
        repeat {
            let query = words + (next.map { ["after=\($0)"] } ?? [])
            let path = "/3/tokens?" + query.joined(separator: "&")
            let answer = try await askPatiently(path, request)
            let found = try JSONDecoder().decode(Found.self, from: Data(answer))
            devices += found.devices
            next = found.next
        } while next != nil
        try check(Set(devices.map { $0.name.lowercased() }), topic)
        return devices.map { SendTarget(token: $0.token, name: $0.name) }
    }

    /// Asks again while the relay answers that the key has asked too often: a group of a million devices needs more
    /// answers than a key gets at once.
    private func askPatiently(_ path: String, _ request: ProviderRequest) async throws -> [UInt8] {
        for _ in 0..<Self.mostPauses {
            let answer = try await request.response(to: path)
            if answer.status == 200 { return answer.body }
            guard answer.status == 429 else { throw refusal(answer, of: request) }
            try await Task.sleep(for: .seconds(1))
        }
        throw CommandFailure(
            "The relay at \(request.relay.destination) refused to look up devices for \(Self.mostPauses) s: "
                + "429 TooManyRequests. The key is used for too many lookups: use fewer, or another key.")
    }

    private func refusal(_ answer: RequestClient.Response, of request: ProviderRequest) -> CommandFailure {
        isAll
            ? request.refusal(answer, "list all devices", setting: .lookupAllKeys)
            : request.refusal(answer, "look up devices")
    }

    private static let mostPauses = 30

    /// The relay's control socket, found as `--wait` finds it.
    static func control(_ options: ParsedOptions) throws -> ControlClient {
        ControlClient(address: try ControlAddress.find(options))
    }
}

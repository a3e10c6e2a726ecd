import FoundationEssentials
import PostriderClients
import PostriderCommands
import PostriderCrypto
import PostriderNotifications
import PostriderOptions

/// The parsed arguments of `postrider send`.
struct SendArguments: Sendable {
    let relay: Server
    /// Signs provider tokens; nil if the push is made on the relay's control socket, which needs no token.
    let signer: ProviderTokenMaker?
    let targets: [SendTarget]
    /// The channels to broadcast to, in place of device tokens.
    let channels: [String]
    let timeoutMilliseconds: Int
    private let template: Push

    /// Parses the options, and reads the files that they name.
    ///
    /// - Parameter group: the devices of `--device`, `--tag` or `--all`; nil if none of these options is given.
    init(_ options: ParsedOptions, group: [SendTarget]? = nil) throws {
        channels = try options.list("channel").map { "\(try options.channel($0))" }
        let tokens = try !channels.isEmpty ? Self.noTokens(options) : group == nil ? Self.tokens(options) : []
        targets = group ?? tokens.map { SendTarget(token: $0) }
        if targets.count > 1, options.isSet("apns-id") {
            throw options.error("--apns-id names one notification; push to one device with it")
        }
        var template = try Self.template(options)
        if !channels.isEmpty { template.becomeBroadcast() }
        timeoutMilliseconds = try options.timeout() ?? 20_000
        if Self.pushesByControl(options) {
            relay = Server(socket: try SendGroup.control(options).address)
            signer = nil
        } else {
            let choice = try Self.choice(options)
            relay = choice.server
            signer = try Self.signer(options, choice.dev)
            if template.topic == nil { template.topic = choice.dev?.topics.first.flatMap { Topic($0) } }
        }
        self.template = template
    }

    /// The recipients: devices or channels.
    var addressees: [SendTarget] { channels.isEmpty ? targets : channels.map { SendTarget(token: $0) } }

    /// Whether the push is made on the relay's control socket instead of the provider port: the options name no key
    /// and no address of a relay, but a control socket, a configuration, or a group of devices.
    static func pushesByControl(_ options: ParsedOptions) -> Bool {
        let ofProvider = ["relay", "host", "key-file", "key-id", "team-id", "directory", "environment"]
        guard !ofProvider.contains(where: options.isSet), options.list("channel").isEmpty else {
            return false
        }
        if options.isSet("control") || options.isSet("config") { return true }
        let isGroup = ["device", "tag", "all"].contains(where: options.isSet)
        return isGroup && !FileManager.default.fileExists(atPath: DevFolder.usualPath)
    }

    /// The topic of a push to a group.
    static func topic(_ options: ParsedOptions) throws -> Topic {
        if let topic = try topicOption(options) { return topic }
        let dev = pushesByControl(options) ? nil : try choice(options).dev
        if let topic = dev?.topics.first.flatMap({ Topic($0) }) { return topic }
        throw options.error("--topic is missing; it is the bundle identifier of the app")
    }

    private static func topicOption(_ options: ParsedOptions) throws -> Topic? {
        guard let text = options.string("topic") else { return nil }
        if let topic = Topic(text) { return topic }
        throw options.error("--topic must be made of letters, digits, '.', '-' and '_', unlike '\(text)'")
    }

    /// The push to one recipient.
    func push(to addressee: String) -> Push {
        var push = template
        if channels.isEmpty {
            push.deviceToken = addressee
        } else {
            push.channel = ChannelIdentity(addressee)
        }
        return push
    }

    /// The relay that the user means, and for `postrider dev` the port.
    static func choice(_ options: ParsedOptions) throws -> RelayResolver {
        let environment = try options.choice("environment", of: Environment.self)
        let choice = try RelayResolver(options, .provider, environment: environment ?? .production)
        guard choice.dev != nil || environment == nil else {
            throw options.error(
                "--environment chooses a port of 'postrider dev'; name the relay's port for the environment")
        }
        return choice
    }

    private static func noTokens(_ options: ParsedOptions) throws -> [String] {
        guard options.list("token").isEmpty, options.operands.isEmpty else {
            throw options.error("a push goes to devices or to channels; give DEVICE-TOKEN or --channel")
        }
        return []
    }

    private static func tokens(_ options: ParsedOptions) throws -> [String] {
        let tokens = options.list("token") + options.operands
        guard !tokens.isEmpty else {
            throw options.error("DEVICE-TOKEN is missing; usage: \(options.table.usage)")
        }
        for token in tokens where !token.utf8.allSatisfy({ Hexadecimal.value($0) != nil }) || token.isEmpty {
            throw options.error("a device token is written in hexadecimal digits, unlike '\(token)'")
        }
        return tokens
    }

    private static func template(_ options: ParsedOptions) throws -> Push {
        var push = Push(to: "", topic: nil, payload: try payload(options))
        push.topic = try topicOption(options)
        let isRaw = options.isSet("payload") || options.isSet("payload-file")
        push.pushType = try options.choice("push-type", of: PushType.self) ?? (isRaw ? nil : .alert)
        if let text = options.string("priority") {
            guard let priority = UInt8(text).flatMap(Priority.init(rawValue:)) else {
                throw options.error("--priority must be 10, 5 or 1, not '\(text)'")
            }
            push.priority = priority
        }
        if let seconds = try options.integer("expiration", in: 0...9_999_999_999) {
            push.expiration = seconds == 0 ? .nowOrNever : .at(Moment(seconds: Int64(seconds)))
        }
        push.collapseIdentifier = options.string("collapse-id")
        if let text = options.string("apns-id") {
            guard let identity = NotificationIdentity(text) else {
                throw options.error("--apns-id must be a UUID, such as 123E4567-E89B-12D3-A456-42665544000A")
            }
            push.identity = identity
        }
        return push
    }

    private static func payload(_ options: ParsedOptions) throws -> [UInt8] {
        let isAlert = options.isSet("title") || options.isSet("body")
        let kinds = ["alert", "payload", "payload-file"].filter(options.isSet) + (isAlert ? ["title"] : [])
        guard kinds.count == 1 else {
            throw options.error(
                "give one of --alert, --title with --body, --payload and --payload-file to say what is pushed"
            )
        }
        if let text = options.string("payload") { return Array(text.utf8) }
        if let file = options.string("payload-file") {
            return Array(try FileText.read(file, "The payload").utf8)
        }
        if let text = options.string("alert") { return try json(["aps": ["alert": text]]) }
        let alert = ["title", "body"].reduce(into: [String: String]()) { $0[$1] = options.string($1) }
        return try json(["aps": ["alert": alert]])
    }

    private static func json(_ value: some Encodable) throws -> [UInt8] {
        Array(try Console.json(value).utf8)
    }

    /// Signs provider tokens with the key that the options or `postrider dev` give.
    static func signer(_ options: ParsedOptions, _ dev: DevValues?) throws -> ProviderTokenMaker {
        let file = try options.string("key-file") ?? dev?.keyFile ?? options.requiredString("key-file")
        let identifier =
            try options.string("key-id") ?? dev?.keyIdentifier ?? options.requiredString("key-id")
        let team = try options.string("team-id") ?? dev?.team ?? options.requiredString("team-id")
        return try .reading(file, key: identifier, team: team)
    }
}

extension ProviderTokenMaker {
    /// Signs provider tokens with the key in a file.
    static func reading(_ file: String, key: String, team: String) throws -> ProviderTokenMaker {
        let text = try FileText.read(file, "The key file")
        do throws(CryptoError) {
            return ProviderTokenMaker(key: try ES256.PrivateKey(pem: text), keyIdentifier: key, team: team)
        } catch {
            throw CommandFailure("The key file \(file) cannot sign: \(error).")
        }
    }
}

extension Push {
    /// Sets what every broadcast must have and the user has not given.
    fileprivate mutating func becomeBroadcast() {
        pushType = .liveactivity
        priority = priority ?? .immediate
        expiration = expiration ?? .nowOrNever
    }
}

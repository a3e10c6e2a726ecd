import FoundationEssentials
import PostriderClients
import PostriderCommands
import PostriderNotifications
import PostriderOptions

/// The parsed arguments of `postrider device`.
struct DeviceArguments: Sendable {
    let relay: Server
    /// The topics to register, each with its environment.
    let registrations: [String: Environment]
    /// The channels to subscribe to, with the only topic.
    let channels: [ChannelIdentity]
    let count: Int?
    let isJSON: Bool
    let name: String
    let keepaliveSeconds: UInt32
    private let stateFile: String?
    private let keyFile: String?
    private let keyInEnvironment: String?

    /// The variable that holds the enrolment key. Secrets are not accepted as arguments, which other users of the
    /// machine can read.
    static let keyVariable = "POSTRIDER_ENROLMENT_KEY"

    init(_ options: ParsedOptions, environment: [String: String]) throws {
        count = try options.integer("count", in: 1...Int.max)
        isJSON = options.isSet("json")
        name = options.string("name") ?? "postrider device"
        guard name.utf8.count <= Limits.courierTextBytes else {
            throw options.error("--name must have \(Limits.courierTextBytes) bytes at most")
        }
        let keepalives = Limits.keepaliveSeconds.least...Limits.keepaliveSeconds.most
        keepaliveSeconds = UInt32(try options.integer("keepalive", in: keepalives) ?? 0)
        stateFile = options.string("state")
        let choice = try RelayResolver(options, .device)
        relay = choice.server
        let topics = options.list("topic")
        let world = try options.choice("environment", of: Environment.self) ?? .production
        registrations = Dictionary(
            (topics.isEmpty ? choice.dev?.topics ?? [] : topics).map { ($0, world) },
            uniquingKeysWith: { $1 })
        channels = try options.list("channel").map { try options.channel($0) }
        guard channels.isEmpty || registrations.count == 1 else {
            throw options.error("a channel belongs to an app; give one --topic with --channel")
        }
        keyFile = options.string("enrolment-key-file") ?? choice.dev?.enrolmentKeyFile
        keyInEnvironment = environment[Self.keyVariable].flatMap { $0.isEmpty ? nil : $0 }
    }

    /// The key with which the device enrols.
    func enrolmentKey() throws(CommandFailure) -> String {
        if let keyInEnvironment { return keyInEnvironment }
        guard let keyFile else {
            throw CommandFailure(
                "The device is not enrolled and has no enrolment key: set \(Self.keyVariable), or give "
                    + "--enrolment-key-file.", exitCode: 2)
        }
        let key = try FileText.read(keyFile, "The enrolment key").trimmed
        guard !key.isEmpty else {
            throw CommandFailure("The enrolment key \(keyFile) is empty: put the key into it.")
        }
        return key
    }

    /// The identity of the device from its last run; nil if it has none yet.
    func readState() throws(CommandFailure) -> DeviceState? {
        guard let stateFile, let text = try FileText.readIfThere(stateFile) else { return nil }
        guard let state = try? JSONDecoder().decode(DeviceState.self, from: Data(text.utf8)) else {
            throw CommandFailure(
                "The file \(stateFile) holds no device's identity: remove it to enrol again.")
        }
        return state
    }

    /// Stores the identity of the device if the user wants that.
    func write(_ state: DeviceState) throws {
        if let stateFile { try FileText.write(try Console.json(state) + "\n", to: stateFile) }
    }

    /// A sentence that says what the user can do when the relay does not know the device any more.
    var adviceToEnrol: String {
        stateFile.map { "remove \($0) to enrol again" } ?? "start it again to enrol again"
    }
}

/// The identity of a device, as stored in a --state file.
struct DeviceState: Codable, Equatable, Sendable {
    let identity: DeviceIdentity
    let secret: [UInt8]

    private enum CodingKeys: CodingKey {
        case identity
        case secret
    }

    init(identity: DeviceIdentity, secret: [UInt8]) {
        self.identity = identity
        self.secret = secret
    }

    init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        guard let identity = DeviceIdentity(hex: try values.decode(String.self, forKey: .identity)),
            let secret = Hexadecimal.bytes(try values.decode(String.self, forKey: .secret)),
            secret.count == Limits.deviceSecretBytes
        else {
            throw DecodingError.dataCorrupted(
                .init(codingPath: decoder.codingPath, debugDescription: "no identity"))
        }
        self.init(identity: identity, secret: secret)
    }

    func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: CodingKeys.self)
        try values.encode(identity.description, forKey: .identity)
        try values.encode(Hexadecimal.text(secret), forKey: .secret)
    }
}

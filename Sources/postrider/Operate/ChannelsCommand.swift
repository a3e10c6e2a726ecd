import PostriderClients
import PostriderCommands
import PostriderNotifications
import PostriderOptions
import PostriderTransport

/// `postrider channels`: manages the channels of an app as its provider does.
enum ChannelsCommand: Command {
    static let name = "channels"
    static let summary = "Create, list, show and delete an app's channels, as a provider does."

    /// The actions of the command.
    enum Action: String, CaseIterable {
        case create, list, show, delete
    }

    static func run(_ arguments: [String]) async throws -> Int32 {
        guard let options = try table.parseOrHelp(arguments) else { return 0 }
        let request = try request(options)
        let choice = try SendArguments.choice(options)
        let signer = try SendArguments.signer(options, choice.dev)
        guard let name = options.string("topic") ?? choice.dev?.topics.first, let topic = Topic(name) else {
            throw options.error("--topic is missing; it is the bundle identifier of the app")
        }
        let outcome = try await ask(request, of: topic, choice.server, signer)
        guard outcome.isDone else {
            throw CommandFailure(
                "The relay refuses: \(outcome.status) \(Listing.printable(outcome.reason ?? ""))")
        }
        Console.say(options.isSet("json") ? try Console.json(Line(outcome)) : sentence(outcome))
        return 0
    }

    /// Parses the action and its operand.
    static func request(_ options: ParsedOptions) throws -> ChannelRequest {
        guard let action = Action(rawValue: options.operands[0]) else {
            let list = Action.allCases.map(\.rawValue).joined(separator: ", ")
            throw options.error("there is no action '\(options.operands[0])'; there are \(list)")
        }
        let text = options.operands.count > 1 ? options.operands[1] : nil
        switch action {
        case .create, .list:
            guard text == nil else { throw options.error("\(action.rawValue) takes no CHANNEL") }
            return action == .list ? .list : .create(options.isSet("store") ? .mostRecent : .nothing)
        case .show, .delete:
            guard let text else { throw options.error("CHANNEL is missing; usage: \(options.table.usage)") }
            let channel = try options.channel(text)
            return action == .show ? .read(channel) : .delete(channel)
        }
    }

    private static func ask(
        _ request: ChannelRequest, of topic: Topic, _ relay: Server, _ signer: ProviderTokenMaker
    ) async throws -> ChannelOutcome {
        let result: Result<ChannelOutcome, ClientError>? = try await LoopThread.run("channels") { loop in
            let client = ProviderClient(to: relay, tokens: signer, on: loop)
            var answer: Result<ChannelOutcome, ClientError>?
            client.onClose = { [unowned loop] _ in loop.stop() }
            try client.ask(request, of: topic) { [unowned client] outcome in
                answer = outcome
                client.close()
            }
            return { withExtendedLifetime(client) { answer } }
        }
        switch result {
        case .success(let outcome): return outcome
        case .failure(.notConnected(let reason)):
            throw CommandFailure.notConnected(to: relay.destination, reason)
        case .failure(let error):
            throw CommandFailure("The relay at \(relay.destination) did not answer: \(error).")
        case nil: throw CommandFailure("The relay at \(relay.destination) did not answer.")
        }
    }

    private struct Line: Encodable {
        let channel: String?
        let storage: Int?
        let channels: [String]?

        enum CodingKeys: String, CodingKey {
            case channel, channels
            case storage = "message-storage-policy"
        }

        init(_ outcome: ChannelOutcome) {
            channel = outcome.channel?.description
            storage = outcome.storage?.rawValue
            channels = outcome.channels?.map(\.description)
        }
    }

    private static func sentence(_ outcome: ChannelOutcome) -> String {
        if let channel = outcome.channel { return "\(channel)" }
        if let channels = outcome.channels { return channels.map(\.description).joined(separator: "\n") }
        switch outcome.storage {
        case .nothing: return "The channel stores nothing."
        case .mostRecent: return "The channel stores its most recent broadcast."
        case nil: return "The channel is deleted."
        }
    }

    static let table = OptionTable(
        command: "postrider channels",
        summary: """
            Create, list, show or delete the channels of an app. Devices subscribe to a channel, and \
            'postrider send --channel' reaches all of them at once. Without --relay it is for the relay of \
            'postrider dev'.
            """,
        operands: [.required("ACTION"), .optional("CHANNEL")],
        options: [
            .value("topic", "TOPIC", "The app of the channels."),
            .flag("store", "Create a channel that stores its most recent broadcast, for up to eight hours."),
        ] + RelayResolver.options(.provider) + SendCommand.provider + [
            .flag("json", "Print the answer as a line of JSON.")
        ],
        sections: [
            .init(
                "Actions",
                [
                    ("create", "Create a channel and print its name."),
                    ("list", "Print the names of all channels of the app."),
                    ("show", "Print what a channel stores."),
                    ("delete", "Delete a channel."),
                ])
        ],
        examples: [
            .init("A channel of the relay of 'postrider dev'", "postrider channels create --store"),
            .init(
                "Broadcast to all subscribers",
                "postrider send --channel X0bcPy4BEe+g7WASYbOTkQ== --alert 'Half-time'"),
        ]
    )
}

extension ParsedOptions {
    /// Reads a channel identifier in the relay's format.
    func channel(_ text: String) throws(UsageError) -> ChannelIdentity {
        if let channel = ChannelIdentity(text) { return channel }
        throw error("a channel is the base64 text that 'postrider channels create' prints, unlike '\(text)'")
    }
}
